#include "models/json_reader.h"

#include <algorithm>
#include <bitset>
#include <cassert>

namespace ropewalk {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isContinuation(unsigned char c) {
  return (c & 0xC0) == 0x80;
}

size_t utf8Bytes(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

char* writeUtf8(uint32_t code, char* out) {
  const size_t bytes = utf8Bytes(code);
  if (bytes == 1) {
    *out++ = static_cast<char>(code);
    return out;
  }
  constexpr uint32_t kLead[] = {0xC0, 0xE0, 0xF0};  // of 2, 3 and 4 bytes
  *out++ = static_cast<char>(kLead[bytes - 2] | code >> (6 * (bytes - 1)));
  for (size_t left = bytes - 1; left-- > 0;) *out++ = static_cast<char>(0x80 | (code >> (6 * left) & 0x3F));
  return out;
}

uint32_t hexValue(char c) {
  return static_cast<uint32_t>(isDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Of four digits.
uint32_t hexCode(const char* digits) {
  uint32_t code = 0;
  for (size_t i = 0; i < 4; ++i) code = code << 4 | hexValue(digits[i]);
  return code;
}

bool isLeadingSurrogate(uint32_t code) {
  return code >= 0xD800 && code < 0xDC00;
}
bool isTrailingSurrogate(uint32_t code) {
  return code >= 0xDC00 && code < 0xE000;
}

constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

}  // namespace

size_t utf8End(const char* text, size_t bytes) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  size_t i = 0;
  while (i < bytes) {
    const unsigned char lead = p[i];
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xC2 && lead < 0xE0 ? 2
                          : lead < 0xE0               ? 0
                          : lead < 0xF0               ? 3
                          : lead < 0xF5               ? 4
                                                      : 0;
    if (length == 0 || bytes - i < length || !std::all_of(p + i + 1, p + i + length, isContinuation))
      return i;
    // The first byte after the lead tells overlong forms, surrogates and what is beyond U+10FFFF.
    const unsigned char next = p[i + 1];
    if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) || (lead == 0xF0 && next < 0x90) ||
        (lead == 0xF4 && next > 0x8F)) {
      return i;
    }
    i += length;
  }
  return bytes;
}

char JsonReader::peek() {
  while (at_ < size_ && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    ++at_;
  return current();
}

bool JsonReader::accept(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

bool JsonReader::string(JsonString* out) {
  if (!accept('"')) return false;
  out->begin = at_ - 1;
  out->decoded_bytes = 0;
  while (at_ < size_ && text_[at_] != '"') {
    if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
    if (text_[at_] != '\\') {
      ++at_;
      ++out->decoded_bytes;
    } else if (!escape(&out->decoded_bytes)) {
      return false;
    }
  }
  if (at_ == size_) return false;
  ++at_;
  out->bytes = at_ - out->begin;
  return true;
}

bool JsonReader::escape(size_t* decoded_bytes) {
  ++at_;  // the backslash
  uint32_t code = 0;
  if (current() != 'u') {
    if (at_ == size_ || kEscapes.find(current()) == std::string_view::npos) return false;
    ++at_;
  } else {
    if (!hexDigits(&code) || isTrailingSurrogate(code)) return false;
    if (isLeadingSurrogate(code)) {
      if (current() != '\\') return false;
      ++at_;
      uint32_t trail = 0;
      if (current() != 'u' || !hexDigits(&trail) || !isTrailingSurrogate(trail)) return false;
      code = 0x10000;  // or more: four bytes
    }
  }
  *decoded_bytes += utf8Bytes(code);
  return true;
}

bool JsonReader::hexDigits(uint32_t* out) {
  ++at_;  // the u
  if (size_ - at_ < 4 || !std::all_of(text_ + at_, text_ + at_ + 4, isHex)) return false;
  *out = hexCode(text_ + at_);
  at_ += 4;
  return true;
}

void JsonReader::decode(const JsonString& s, char* out) const {
  const char* end = text_ + s.begin + s.bytes - 1;
  for (const char* p = text_ + s.begin + 1; p != end;) {
    if (*p != '\\') {
      *out++ = *p++;
    } else if (p[1] != 'u') {
      *out++ = kEscaped[kEscapes.find(p[1])];
      p += 2;
    } else {
      uint32_t code = hexCode(p + 2);
      p += 6;
      if (isLeadingSurrogate(code)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (hexCode(p + 2) - 0xDC00);
        p += 6;
      }
      out = writeUtf8(code, out);
    }
  }
}

bool JsonReader::equals(const JsonString& s, std::string_view word) const {
  constexpr size_t kLongest = 16;
  char decoded[kLongest];
  assert(word.size() <= kLongest);
  if (s.decoded_bytes != word.size()) return false;
  decode(s, decoded);
  return std::string_view(decoded, word.size()) == word;
}

bool JsonReader::wholeNumber(uint64_t* out) {
  if (!isDigit(peek())) return false;
  const size_t begin = at_;
  uint64_t value = 0;
  while (isDigit(current())) {
    const auto digit = static_cast<uint64_t>(current() - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = 10 * value + digit;
    ++at_;
  }
  if (text_[begin] == '0' && at_ - begin > 1) return false;
  const char next = current();
  if (next == '.' || next == 'e' || next == 'E') return false;
  *out = value;
  return true;
}

bool JsonReader::digits() {
  if (!isDigit(current())) return false;
  while (isDigit(current())) ++at_;
  return true;
}

bool JsonReader::number() {
  if (current() == '-') ++at_;
  if (current() == '0') {
    ++at_;
  } else if (!digits()) {
    return false;
  }
  if (current() == '.') {
    ++at_;
    if (!digits()) return false;
  }
  if (current() == 'e' || current() == 'E') {
    ++at_;
    if (current() == '+' || current() == '-') ++at_;
    if (!digits()) return false;
  }
  return true;
}

bool JsonReader::scalar() {
  const char first = peek();
  JsonString ignored;
  if (first == '"') return string(&ignored);
  if (first == '-' || isDigit(first)) return number();
  for (const std::string_view word : {"true", "false", "null"}) {
    if (std::string_view(text_ + at_, size_ - at_).substr(0, word.size()) != word) continue;
    at_ += word.size();
    return true;
  }
  return false;
}

// The open arrays and objects are one bit each: whether the innermost is an object.
bool JsonReader::skipValue() {
  std::bitset<kMaxDepth> objects;
  size_t depth = 0;
  const auto key = [&] {
    JsonString ignored;
    return string(&ignored) && accept(':');
  };
  for (;;) {
    const char first = peek();
    if (first == '{' || first == '[') {
      if (depth == kMaxDepth) return false;
      ++at_;
      const bool object = first == '{';
      objects[depth++] = object;
      if (peek() != (object ? '}' : ']')) {
        if (object && !key()) return false;
        continue;
      }
    } else if (!scalar()) {
      return false;
    }
    // A value has ended, or the empty one just opened: close what ends with it.
    while (depth > 0 && accept(objects[depth - 1] ? '}' : ']')) --depth;
    if (depth == 0) return true;
    if (!accept(',') || (objects[depth - 1] && !key())) return false;
  }
}

}  // namespace ropewalk
