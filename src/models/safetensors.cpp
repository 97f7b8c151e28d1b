#include "models/safetensors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/json_reader.h"

namespace ropewalk {
namespace {

using Reason = SafetensorsReason;

constexpr size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

struct DtypeInfo {
  std::string_view name;
  uint64_t bits;
};

// By number.
constexpr DtypeInfo kDtypes[] = {
    {"BOOL", 8},        {"U8", 8},      {"I8", 8},      {"I16", 16},    {"U16", 16},    {"F16", 16},
    {"BF16", 16},       {"I32", 32},    {"U32", 32},    {"F32", 32},    {"F64", 64},    {"I64", 64},
    {"U64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

bool multiply64(uint64_t a, uint64_t b, uint64_t* product) {
  if (b != 0 && a > UINT64_MAX / b) return false;
  *product = a * b;
  return true;
}

// The bits of a tensor, or false where there are 2^64 or more.
bool tensorBits(const SafetensorsTensor& tensor, uint64_t* bits) {
  *bits = kDtypes[static_cast<int>(tensor.dtype)].bits;
  for (size_t i = 0; i < tensor.rank; ++i) {
    if (!multiply64(*bits, tensor.shape[i], bits)) return false;
  }
  return true;
}

bool nameBefore(const SafetensorsTensor& a, const SafetensorsTensor& b) {
  const int order = compareText(a.name, a.name_bytes, b.name, b.name_bytes);
  return order != 0 ? order < 0 : a.key_at < b.key_at;
}

// Empty tensors come before what begins where they lie.
bool dataBefore(const SafetensorsTensor& a, const SafetensorsTensor& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  return a.end != b.end ? a.end < b.end : a.key_at < b.key_at;
}

}  // namespace

// One walk over the header. The first counts and checks the text, the second, over text that is right, fills.
class HeaderWalk {
 public:
  HeaderWalk(const char* text, size_t bytes, SafetensorsHeader& header, bool fill)
      : text_(text), bytes_(bytes), reader_(text, bytes), header_(header), fill_(fill) {}

  Status run();

  size_t tensors = 0;
  size_t sizes = 0;
  size_t name_bytes = 0;
  SafetensorsFault fault;

 private:
  Status refuse(Reason reason, size_t at) {
    fault.reason = reason;
    fault.at = kLengthBytes + at;
    return Status::kInvalidArgument;
  }
  Status refuseHere(Reason reason) { return refuse(reason, reader_.at()); }

  Status entry();
  Status metadata();
  Status tensor(SafetensorsTensor* out);
  Status dtype(SafetensorsTensor* out);
  Status shape(SafetensorsTensor* out);
  Status offsets(SafetensorsTensor* out);

  const char* text_;
  size_t bytes_;
  JsonReader reader_;
  SafetensorsHeader& header_;
  bool fill_;
  bool has_metadata_ = false;
};

Status HeaderWalk::run() {
  if (bytes_ == 0 || text_[0] != '{') return refuse(Reason::kNotAnObject, 0);
  reader_.accept('{');
  if (!reader_.accept('}')) {
    do {
      if (const Status status = entry(); status != Status::kOk) return status;
    } while (reader_.accept(','));
    if (!reader_.accept('}')) return refuseHere(Reason::kSyntax);
  }
  reader_.peek();
  return reader_.at() == bytes_ ? Status::kOk : refuseHere(Reason::kSyntax);
}

Status HeaderWalk::entry() {
  JsonString key;
  if (!reader_.string(&key) || !reader_.accept(':')) return refuseHere(Reason::kSyntax);
  fault.key_at = key.begin;
  fault.key_bytes = key.bytes;
  if (reader_.equals(key, kMetadataKey)) {
    if (has_metadata_) return refuse(Reason::kDuplicate, key.begin);
    has_metadata_ = true;
    return metadata();
  }
  SafetensorsTensor made;
  made.key_at = key.begin;
  made.name_bytes = key.decoded_bytes;
  if (fill_) {
    char* name = header_.names_.data() + name_bytes;
    reader_.decode(key, name);
    made.name = name;
    made.shape = header_.sizes_.data() + sizes;
  }
  if (const Status status = tensor(&made); status != Status::kOk) return status;
  if (fill_) header_.tensors_[tensors] = made;
  ++tensors;
  sizes += made.rank;
  name_bytes += key.decoded_bytes;
  fault.key_bytes = 0;
  return Status::kOk;
}

// Whole on the first walk: it allocates for itself.
Status HeaderWalk::metadata() {
  TextMap::Fault wrong;
  const Status status = fill_ ? Status::kOk : header_.metadata_.read(reader_, &wrong);
  if (status == Status::kInvalidArgument) {
    return refuse(wrong.duplicate ? Reason::kDuplicate : Reason::kNotText, wrong.at);
  }
  if (fill_) reader_.skipValue();
  fault.key_bytes = 0;
  return status;
}

Status HeaderWalk::tensor(SafetensorsTensor* out) {
  const struct {
    std::string_view name;
    Status (HeaderWalk::*read)(SafetensorsTensor*);
  } fields[] = {
      {"dtype", &HeaderWalk::dtype}, {"shape", &HeaderWalk::shape}, {"data_offsets", &HeaderWalk::offsets}};
  bool seen[3] = {};
  if (!reader_.accept('{')) return refuseHere(Reason::kNotATensor);
  if (!reader_.accept('}')) {
    do {
      JsonString key;
      if (!reader_.string(&key)) return refuseHere(Reason::kSyntax);
      if (!reader_.accept(':')) return refuseHere(Reason::kSyntax);
      const auto* field = std::find_if(std::begin(fields), std::end(fields),
                                       [&](const auto& f) { return reader_.equals(key, f.name); });
      if (field == std::end(fields)) {
        if (!reader_.skipValue()) return refuseHere(Reason::kSyntax);
        continue;
      }
      bool& known = seen[field - fields];
      if (known) return refuse(Reason::kDuplicate, key.begin);
      known = true;
      if (const Status status = (this->*field->read)(out); status != Status::kOk) return status;
    } while (reader_.accept(','));
    if (!reader_.accept('}')) return refuseHere(Reason::kSyntax);
  }
  return seen[0] && seen[1] && seen[2] ? Status::kOk : refuse(Reason::kMissing, out->key_at);
}

Status HeaderWalk::dtype(SafetensorsTensor* out) {
  reader_.peek();
  const size_t at = reader_.at();
  JsonString word;
  if (!reader_.string(&word)) return refuse(Reason::kDtype, at);
  const auto* known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const DtypeInfo& d) { return reader_.equals(word, d.name); });
  if (known == std::end(kDtypes)) return refuse(Reason::kDtype, at);
  out->dtype = static_cast<SafetensorsDtype>(known - kDtypes);
  return Status::kOk;
}

Status HeaderWalk::shape(SafetensorsTensor* out) {
  if (!reader_.accept('[')) return refuseHere(Reason::kShape);
  if (reader_.accept(']')) return Status::kOk;
  do {
    reader_.peek();
    const size_t at = reader_.at();
    uint64_t size = 0;
    if (!reader_.wholeNumber(&size) || size > kMaxFileBytes) return refuse(Reason::kShape, at);
    if (fill_) header_.sizes_[sizes + out->rank] = size;
    ++out->rank;
  } while (reader_.accept(','));
  return reader_.accept(']') ? Status::kOk : refuseHere(Reason::kShape);
}

Status HeaderWalk::offsets(SafetensorsTensor* out) {
  reader_.peek();
  const size_t at = reader_.at();
  const bool read = reader_.accept('[') && reader_.wholeNumber(&out->begin) && reader_.accept(',') &&
                    reader_.wholeNumber(&out->end) && reader_.accept(']');
  return read && out->begin <= out->end ? Status::kOk : refuse(Reason::kOffsets, at);
}

namespace {

// What is left to ask of tensors once the text is right.
class DataCheck {
 public:
  DataCheck(const char* text, size_t bytes, SafetensorsTensor* tensors, size_t n)
      : text_(text), bytes_(bytes), begin_(tensors), end_(tensors + n) {}

  // Leaves the tensors in the order of their bytes.
  Status run(uint64_t data_bytes);

  SafetensorsFault fault;

 private:
  Status refuse(Reason reason, const SafetensorsTensor& tensor, uint64_t wanted, uint64_t found);
  Status names();
  Status sizes();
  Status checkRanges(uint64_t data_bytes);

  const char* text_;
  size_t bytes_;
  SafetensorsTensor* begin_;
  SafetensorsTensor* end_;
};

Status DataCheck::refuse(Reason reason, const SafetensorsTensor& tensor, uint64_t wanted, uint64_t found) {
  JsonReader reader(text_ + tensor.key_at, bytes_ - tensor.key_at);
  JsonString key;
  reader.string(&key);
  fault = {reason, kLengthBytes + tensor.key_at, tensor.key_at, key.bytes, wanted, found};
  return Status::kInvalidArgument;
}

Status DataCheck::run(uint64_t data_bytes) {
  if (const Status status = names(); status != Status::kOk) return status;
  if (const Status status = sizes(); status != Status::kOk) return status;
  return checkRanges(data_bytes);
}

Status DataCheck::names() {
  sortBy<nameBefore>(begin_, end_);
  const SafetensorsTensor* second = nullptr;  // the first in the text that stood before
  for (const SafetensorsTensor* t = begin_ + 1; t < end_; ++t) {
    const bool same = compareText(t[-1].name, t[-1].name_bytes, t->name, t->name_bytes) == 0;
    if (same && (second == nullptr || t->key_at < second->key_at)) second = t;
  }
  return second == nullptr ? Status::kOk : refuse(Reason::kDuplicate, *second, 0, 0);
}

Status DataCheck::sizes() {
  sortBy<dataBefore>(begin_, end_);
  for (const SafetensorsTensor* t = begin_; t != end_; ++t) {
    uint64_t bits = 0;
    const uint64_t found = t->end - t->begin;
    if (!tensorBits(*t, &bits)) return refuse(Reason::kSize, *t, kUnknownBytes, found);
    if (bits % 8 != 0) return refuse(Reason::kPartOfByte, *t, bits, found);
    if (bits / 8 != found) return refuse(Reason::kSize, *t, bits / 8, found);
  }
  return Status::kOk;
}

Status DataCheck::checkRanges(uint64_t data_bytes) {
  uint64_t at = 0;
  for (const SafetensorsTensor* t = begin_; t != end_; ++t) {
    if (t->begin != at) return refuse(t->begin < at ? Reason::kOverlap : Reason::kHole, *t, at, t->begin);
    if (t->end > data_bytes || t->end > kMaxFileBytes) {
      return refuse(Reason::kDataPastEnd, *t, t->end, std::min(data_bytes, kMaxFileBytes));
    }
    at = t->end;
  }
  if (data_bytes == kUnknownBytes || at == data_bytes) return Status::kOk;
  fault = {Reason::kDataLeft, kLengthBytes + bytes_ + at, 0, 0, at, data_bytes};
  return Status::kInvalidArgument;
}

}  // namespace

Status safetensorsHeaderBytes(const uint8_t* first, uint64_t file_bytes, size_t* header_bytes,
                              SafetensorsFault* fault) {
  const auto refuse = [&](Reason reason, uint64_t wanted, uint64_t found) {
    *fault = {reason, 0, 0, 0, wanted, found};
    return Status::kInvalidArgument;
  };
  if (file_bytes < kLengthBytes) return refuse(Reason::kTooShort, kLengthBytes, file_bytes);
  uint64_t n = 0;
  for (size_t i = kLengthBytes; i-- > 0;) n = n << 8 | first[i];
  if (n > kMaxHeaderBytes) return refuse(Reason::kHeaderTooLong, kMaxHeaderBytes, n);
  if (n > file_bytes - kLengthBytes) return refuse(Reason::kHeaderPastEnd, n, file_bytes - kLengthBytes);
  *header_bytes = static_cast<size_t>(n);
  return Status::kOk;
}

Status SafetensorsHeader::parse(const char* header, size_t bytes, uint64_t data_bytes,
                                SafetensorsFault* fault) {
  if (const size_t end = utf8End(header, bytes); end != bytes) {
    *fault = {Reason::kNotUtf8, kLengthBytes + end, 0, 0, 0, 0};
    return Status::kInvalidArgument;
  }
  SafetensorsHeader made;
  HeaderWalk count(header, bytes, made, false);
  if (const Status status = count.run(); status != Status::kOk) {
    *fault = count.fault;
    return status;
  }
  if (made.tensors_.allocate(count.tensors) != Status::kOk ||
      made.sizes_.allocate(count.sizes) != Status::kOk ||
      made.names_.allocate(count.name_bytes) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  HeaderWalk fill(header, bytes, made, true);
  static_cast<void>(fill.run());  // over text that is right

  DataCheck check(header, bytes, made.tensors_.data(), count.tensors);
  if (const Status status = check.run(data_bytes); status != Status::kOk) {
    *fault = check.fault;
    return status;
  }
  *this = std::move(made);
  return Status::kOk;
}

Status readWeightMap(const char* text, size_t bytes, TextMap* map, SafetensorsFault* fault) {
  JsonReader reader(text, bytes);
  const auto refuse = [&](Reason reason, size_t at) {
    *fault = {reason, at, 0, 0, 0, 0};
    return Status::kInvalidArgument;
  };
  if (const size_t end = utf8End(text, bytes); end != bytes) return refuse(Reason::kNotUtf8, end);
  if (!reader.accept('{')) return refuse(Reason::kNotAnObject, reader.at());
  TextMap made;
  bool found = false;
  if (!reader.accept('}')) {
    do {
      JsonString key;
      if (!reader.string(&key) || !reader.accept(':')) return refuse(Reason::kSyntax, reader.at());
      if (!reader.equals(key, "weight_map")) {
        if (!reader.skipValue()) return refuse(Reason::kSyntax, reader.at());
        continue;
      }
      if (found) return refuse(Reason::kDuplicate, key.begin);
      found = true;
      TextMap::Fault wrong;
      const Status status = made.read(reader, &wrong);
      if (status == Status::kInvalidArgument) {
        return refuse(wrong.duplicate ? Reason::kDuplicate : Reason::kNotText, wrong.at);
      }
      if (status != Status::kOk) return status;
    } while (reader.accept(','));
    if (!reader.accept('}')) return refuse(Reason::kSyntax, reader.at());
  }
  reader.peek();
  if (reader.at() != bytes) return refuse(Reason::kSyntax, reader.at());
  if (!found) return refuse(Reason::kMissing, 0);
  *map = std::move(made);
  return Status::kOk;
}

}  // namespace ropewalk
