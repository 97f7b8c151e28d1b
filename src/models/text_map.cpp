#include "models/text_map.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ropewalk {
namespace {

// Calls visit(key, value) for each entry; false where the text is no object of strings.
template <class Visit>
bool walk(JsonReader& reader, Visit visit) {
  if (!reader.accept('{')) return false;
  if (reader.accept('}')) return true;
  do {
    JsonString key;
    JsonString value;
    if (!reader.string(&key) || !reader.accept(':') || !reader.string(&value)) return false;
    visit(key, value);
  } while (reader.accept(','));
  return reader.accept('}');
}

bool keyBefore(const TextPair& a, const TextPair& b) {
  const int order = compareText(a.key, a.key_bytes, b.key, b.key_bytes);
  return order != 0 ? order < 0 : a.at < b.at;
}

bool offsetBefore(const TextPair& a, const TextPair& b) {
  return a.at < b.at;
}

// Leaves the pairs in the order of their keys. Returns the offset of the first key in the
// text that repeats an earlier one, or 0.
size_t secondOccurrence(TextPair* pairs, size_t n) {
  sortBy<keyBefore>(pairs, pairs + n);
  size_t first = 0;
  for (size_t i = 1; i < n; ++i) {
    const TextPair& a = pairs[i - 1];
    const TextPair& b = pairs[i];
    const bool same = compareText(a.key, a.key_bytes, b.key, b.key_bytes) == 0;
    if (same && (first == 0 || b.at < first)) first = b.at;
  }
  return first;
}

}  // namespace

int compareText(const char* a, size_t a_bytes, const char* b, size_t b_bytes) {
  const size_t common = std::min(a_bytes, b_bytes);
  const int order = common == 0 ? 0 : std::memcmp(a, b, common);
  if (order != 0) return order;
  return a_bytes < b_bytes ? -1 : a_bytes > b_bytes ? 1 : 0;
}

Status TextMap::read(JsonReader& reader, Fault* fault) {
  size_t count = 0;
  size_t bytes = 0;
  TextPair* pair = nullptr;  // null in the walk that counts
  char* text = nullptr;
  JsonReader counting = reader;
  const auto put = [&](const JsonString& s) {
    reader.decode(s, text);
    return std::exchange(text, text + s.decoded_bytes);
  };
  const auto visit = [&](const JsonString& key, const JsonString& value) {
    if (pair == nullptr) {
      ++count;
      bytes += key.decoded_bytes + value.decoded_bytes;
      return;
    }
    const char* key_text = put(key);
    *pair++ = {key_text, key.decoded_bytes, put(value), value.decoded_bytes, key.begin};
  };
  if (!walk(counting, visit)) {
    *fault = {counting.at(), false};
    return Status::kInvalidArgument;
  }

  TextMap made;
  if (made.pairs_.allocate(count) != Status::kOk || made.text_.allocate(bytes) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  pair = made.pairs_.data();
  text = made.text_.data();
  walk(reader, visit);

  const size_t second = secondOccurrence(made.pairs_.data(), count);
  if (second != 0) {
    *fault = {second, true};
    return Status::kInvalidArgument;
  }
  sortBy<offsetBefore>(made.pairs_.data(), made.pairs_.data() + count);
  *this = std::move(made);
  return Status::kOk;
}

}  // namespace ropewalk
