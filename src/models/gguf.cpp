#include "models/gguf.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <type_traits>
#include <utility>

#include "models/json_reader.h"
#include "models/text_map.h"

namespace ropewalk {
namespace {

using Reason = GgufReason;

constexpr std::string_view kMagic = "GGUF";
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr uint32_t kDefaultAlignment = 32;

// The least that the header spends on one: a length, a letter, a type and a byte; a length, a rank, a type
// and an offset.
constexpr uint64_t kEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kTensorBytes = 8 + 4 + 4 + 8;

struct TypeInfo {
  uint32_t number;  // in the file
  uint32_t block;
  uint32_t bytes;
};

// By GgufType.
constexpr TypeInfo kTypes[] = {
    {0, 1, 4},      {1, 1, 2},      {2, 32, 18},   {3, 32, 20},    {6, 32, 22},    {7, 32, 24},
    {8, 32, 34},    {9, 32, 36},    {10, 256, 84}, {11, 256, 110}, {12, 256, 144}, {13, 256, 176},
    {14, 256, 210}, {15, 256, 292}, {16, 256, 66}, {17, 256, 74},  {18, 256, 98},  {19, 256, 50},
    {20, 32, 18},   {21, 256, 110}, {22, 256, 82}, {23, 256, 136}, {24, 1, 1},     {25, 1, 2},
    {26, 1, 4},     {27, 1, 8},     {28, 1, 8},    {29, 256, 56},  {30, 1, 2},     {34, 256, 54},
    {35, 256, 66},  {39, 32, 17},   {40, 64, 36},  {41, 128, 18},  {42, 64, 18},
};
static_assert(std::size(kTypes) == static_cast<size_t>(GgufType::kQ2_0) + 1);

// By GgufValueType; 0: as long as it says itself.
constexpr uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint64_t kLengthBytes = 8;

uint64_t aligned(uint64_t at, uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

// The bytes of whole blocks of a tensor, or false where they are more than any file has.
bool tensorBytes(const GgufTensor& tensor, uint64_t* bytes) {
  const uint64_t* end = tensor.shape + tensor.rank;
  if (std::find(tensor.shape, end, 0) != end) {
    *bytes = 0;
    return true;
  }
  uint64_t left = kMaxFileBytes / tensor.block_bytes * tensor.block;  // weights that a file has room for
  uint64_t weights = 1;
  for (const uint64_t* size = tensor.shape; size != end; ++size) {
    if (*size > left) return false;
    left /= *size;
    weights *= *size;
  }
  *bytes = weights / tensor.block * tensor.block_bytes;
  return true;
}

bool keyBefore(const GgufEntry& a, const GgufEntry& b) {
  const int order = compareText(a.key, a.key_bytes, b.key, b.key_bytes);
  return order != 0 ? order < 0 : a.at < b.at;
}

bool entryBefore(const GgufEntry& a, const GgufEntry& b) {
  return a.at < b.at;
}

bool nameBefore(const GgufTensor& a, const GgufTensor& b) {
  const int order = compareText(a.name, a.name_bytes, b.name, b.name_bytes);
  return order != 0 ? order < 0 : a.name < b.name;
}

// Of things in the order of their texts: the first in the file whose text came before, or null.
template <class T>
const T* repeated(const T* sorted, size_t n, const char* T::* text, size_t T::* bytes) {
  const T* first = nullptr;
  for (size_t i = 1; i < n; ++i) {
    const T& each = sorted[i];
    const T& before = sorted[i - 1];
    const bool same = compareText(before.*text, before.*bytes, each.*text, each.*bytes) == 0;
    if (same && (first == nullptr || each.*text < first->*text)) first = &each;
  }
  return first;
}

// Empty tensors come before what begins where they lie.
bool dataBefore(const GgufTensor& a, const GgufTensor& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  return a.end != b.end ? a.end < b.end : a.name < b.name;
}

}  // namespace

// One walk over the header. The first checks all but names and places, the second, over bytes that are right,
// fills.
class GgufWalk {
 public:
  GgufWalk(const char* bytes, size_t size, uint64_t file_bytes, GgufHeader& header, bool fill)
      : bytes_(bytes), size_(size), file_bytes_(file_bytes), header_(header), fill_(fill) {}

  bool run();
  // Of the filled header; leaves the tensors in the order of their bytes.
  bool checkNames();
  bool checkPlaces();

  size_t entries = 0;
  size_t tensors = 0;
  GgufFault fault;

 private:
  bool refuse(Reason reason, uint64_t at, uint64_t wanted = 0, uint64_t found = 0) {
    fault.reason = reason;
    fault.at = at;
    fault.wanted = wanted;
    fault.found = found;
    return false;
  }
  void nameIs(const char* name, size_t bytes, bool in_tensor) {
    fault.name_at = static_cast<size_t>(name - bytes_);
    fault.name_bytes = bytes;
    fault.in_tensor = in_tensor;
  }
  bool refuseTensor(Reason reason, const GgufTensor& tensor, uint64_t wanted = 0, uint64_t found = 0) {
    nameIs(tensor.name, tensor.name_bytes, true);
    return refuse(reason, fault.name_at, wanted, found);
  }

  uint64_t left() const { return file_bytes_ - at_; }  // in the file
  bool has(uint64_t n);
  template <class T>
  bool read(T* out);
  bool text(const char** out, size_t* bytes);
  bool preamble(uint64_t* tensor_count, uint64_t* entry_count);
  bool count(Reason reason, uint64_t least, uint64_t* out);
  bool entry();
  bool value(GgufEntry* out);
  bool elements(GgufValueType type, bool is_array, uint64_t n);
  bool alignment(const GgufEntry& entry);
  bool tensor();
  bool shape(GgufTensor* out);
  bool type(GgufTensor* out);
  bool place(GgufTensor* out);

  const char* bytes_;
  size_t size_;
  uint64_t file_bytes_;
  GgufHeader& header_;
  bool fill_;
  size_t at_ = 0;
  uint32_t alignment_ = kDefaultAlignment;
};

// Whether n more bytes are at hand.
bool GgufWalk::has(uint64_t n) {
  if (n > left()) return refuse(Reason::kHeaderPastEnd, at_, n, left());
  if (n > kMaxHeaderBytes || at_ + n > kMaxHeaderBytes)
    return refuse(Reason::kHeaderTooLong, at_, kMaxHeaderBytes);
  if (n <= size_ - at_) return true;
  return refuse(Reason::kMore, at_, at_ + n, size_);
}

template <class T>
bool GgufWalk::read(T* out) {
  static_assert(std::is_unsigned_v<T>);
  if (!has(sizeof(T))) return false;
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes_[at_ + i]);
  at_ += sizeof(T);
  *out = value;
  return true;
}

bool GgufWalk::text(const char** out, size_t* bytes) {
  const size_t begin = at_;
  uint64_t n = 0;
  if (!read(&n)) return false;
  if (n > left()) return refuse(Reason::kTextPastEnd, begin, n, left());
  if (!has(n)) return false;
  *out = bytes_ + at_;
  *bytes = static_cast<size_t>(n);
  if (!fill_) {
    if (const size_t end = utf8End(*out, *bytes); end != *bytes) return refuse(Reason::kNotUtf8, at_ + end);
  }
  at_ += *bytes;
  return true;
}

bool GgufWalk::run() {
  uint64_t tensor_count = 0;
  uint64_t entry_count = 0;
  if (!preamble(&tensor_count, &entry_count)) return false;
  for (; entries < entry_count; ++entries) {
    if (!entry()) return false;
  }
  for (; tensors < tensor_count; ++tensors) {
    if (!tensor()) return false;
  }
  if (fill_) header_.bytes_ = at_;
  return true;
}

bool GgufWalk::preamble(uint64_t* tensor_count, uint64_t* entry_count) {
  const size_t known = std::min(size_, kMagic.size());
  if (std::string_view(bytes_, known) != kMagic.substr(0, known)) return refuse(Reason::kMagic, 0);
  if (!has(kMagic.size())) return false;
  at_ = kMagic.size();
  uint32_t version = 0;
  if (!read(&version)) return false;
  if (version != 2 && version != 3) {
    const bool turned = (version & 0xFFFFFF) == 0 && version != 0 && version >> 24 <= 3;
    return refuse(turned ? Reason::kBigEndian : Reason::kVersion, kMagic.size(), 3, version);
  }
  if (fill_) header_.version_ = version;
  return count(Reason::kTensorCount, kTensorBytes, tensor_count) &&
         count(Reason::kEntryCount, kEntryBytes, entry_count);
}

// Of things that take `least` bytes each.
bool GgufWalk::count(Reason reason, uint64_t least, uint64_t* out) {
  const size_t begin = at_;
  if (!read(out)) return false;
  const uint64_t most = std::min(left(), kMaxHeaderBytes) / least;
  if (*out > most) return refuse(reason, begin, most, *out);
  return true;
}

bool GgufWalk::entry() {
  const size_t begin = at_;
  GgufEntry made;
  if (!text(&made.key, &made.key_bytes)) return false;
  if (made.key_bytes == 0) return refuse(Reason::kEmptyKey, begin);
  nameIs(made.key, made.key_bytes, false);
  if (!value(&made)) return false;
  if (std::string_view(made.key, made.key_bytes) == kAlignmentKey && !alignment(made)) return false;
  if (fill_) header_.entries_[entries] = made;
  fault.name_bytes = 0;
  return true;
}

bool GgufWalk::value(GgufEntry* out) {
  const auto valueType = [&](GgufValueType* type) {
    const size_t begin = at_;
    uint32_t number = 0;
    if (!read(&number)) return false;
    if (number >= std::size(kValueBytes))
      return refuse(Reason::kValueType, begin, std::size(kValueBytes), number);
    *type = static_cast<GgufValueType>(number);
    return true;
  };
  uint64_t n = 1;
  if (!valueType(&out->type)) return false;
  out->element = out->type;
  const bool is_array = out->type == GgufValueType::kArray;
  if (is_array) {
    const size_t begin = at_;
    if (!valueType(&out->element)) return false;
    if (out->element == GgufValueType::kArray) return refuse(Reason::kNestedArray, begin);
    if (!read(&n)) return false;
  }
  out->at = at_;
  if (!elements(out->element, is_array, n)) return false;
  out->count = static_cast<size_t>(n);
  return true;
}

bool GgufWalk::elements(GgufValueType type, bool is_array, uint64_t n) {
  const uint64_t bytes = kValueBytes[static_cast<int>(type)];
  const bool is_text = type == GgufValueType::kString;
  const uint64_t least = is_text ? kLengthBytes : bytes;
  if (is_array && n > left() / least)
    return refuse(Reason::kArrayPastEnd, at_ - kLengthBytes, n, left() / least);
  if (!has(n * least)) return false;
  if (is_text) {
    const char* ignored = nullptr;
    size_t length = 0;
    while (n-- > 0) {
      if (!text(&ignored, &length)) return false;
    }
    return true;
  }
  if (type == GgufValueType::kBool && !fill_) {
    const char* end = bytes_ + at_ + static_cast<size_t>(n);
    const char* wrong = std::find_if(bytes_ + at_, end, [](char c) { return c != 0 && c != 1; });
    if (wrong != end) {
      return refuse(Reason::kBool, static_cast<size_t>(wrong - bytes_), 1, static_cast<uint8_t>(*wrong));
    }
  }
  at_ += static_cast<size_t>(n * bytes);
  return true;
}

bool GgufWalk::alignment(const GgufEntry& entry) {
  if (entry.type != GgufValueType::kUint32) {
    return refuse(Reason::kAlignmentType, entry.at, 0, static_cast<uint64_t>(entry.type));
  }
  at_ = entry.at;
  read(&alignment_);
  if (!std::has_single_bit(alignment_)) return refuse(Reason::kAlignmentSize, entry.at, 0, alignment_);
  return true;
}

bool GgufWalk::tensor() {
  GgufTensor made;
  if (!text(&made.name, &made.name_bytes)) return false;
  nameIs(made.name, made.name_bytes, true);
  if (!shape(&made) || !type(&made) || !place(&made)) return false;
  if (fill_) header_.tensors_[tensors] = made;
  fault.name_bytes = 0;
  return true;
}

bool GgufWalk::shape(GgufTensor* out) {
  const size_t begin = at_;
  uint32_t rank = 0;
  if (!read(&rank)) return false;
  if (rank > kMaxGgufRank) return refuse(Reason::kRank, begin, kMaxGgufRank, rank);
  out->rank = rank;
  for (size_t i = rank; i-- > 0;) {
    if (!read(&out->shape[i])) return false;
    if (out->shape[i] > kMaxFileBytes) return refuse(Reason::kShape, at_ - 8, kMaxFileBytes, out->shape[i]);
  }
  return true;
}

bool GgufWalk::type(GgufTensor* out) {
  const size_t begin = at_;
  uint32_t number = 0;
  if (!read(&number)) return false;
  const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeInfo& each) { return each.number == number; });
  if (known == std::end(kTypes)) return refuse(Reason::kTensorType, begin, 0, number);
  out->type = static_cast<GgufType>(known - kTypes);
  out->block = known->block;
  out->block_bytes = known->bytes;
  const uint64_t row = out->rank == 0 ? 1 : out->shape[out->rank - 1];
  if (row % out->block != 0) return refuse(Reason::kBlock, begin, out->block, row);
  return true;
}

// begin and end are counted from the first byte of data until the header is whole.
bool GgufWalk::place(GgufTensor* out) {
  const size_t begin = at_;
  uint64_t bytes = 0;
  if (!read(&out->begin)) return false;
  if (!tensorBytes(*out, &bytes)) return refuse(Reason::kSize, begin);
  if (out->begin % alignment_ != 0) return refuse(Reason::kOffset, begin, alignment_, out->begin);
  if (out->begin > kMaxFileBytes - bytes) return refuse(Reason::kDataPastEnd, begin, out->begin, file_bytes_);
  out->end = out->begin + bytes;
  return true;
}

bool GgufWalk::checkNames() {
  GgufEntry* entry = header_.entries_.data();
  GgufTensor* tensor = header_.tensors_.data();
  sortBy<keyBefore>(entry, entry + entries);
  sortBy<nameBefore>(tensor, tensor + tensors);
  if (const GgufEntry* again = repeated(entry, entries, &GgufEntry::key, &GgufEntry::key_bytes)) {
    nameIs(again->key, again->key_bytes, false);
    return refuse(Reason::kDuplicate, fault.name_at);
  }
  if (const GgufTensor* again = repeated(tensor, tensors, &GgufTensor::name, &GgufTensor::name_bytes)) {
    return refuseTensor(Reason::kDuplicate, *again);
  }
  sortBy<entryBefore>(entry, entry + entries);
  return true;
}

bool GgufWalk::checkPlaces() {
  GgufTensor* begin = header_.tensors_.data();
  GgufTensor* end = begin + tensors;
  uint64_t at = aligned(at_, alignment_);
  for (GgufTensor* tensor = begin; tensor != end; ++tensor) {
    tensor->begin += at;
    tensor->end += at;
  }
  sortBy<dataBefore>(begin, end);
  for (const GgufTensor* tensor = begin; tensor != end; ++tensor) {
    if (tensor->end > std::min(file_bytes_, kMaxFileBytes)) {
      return refuseTensor(Reason::kDataPastEnd, *tensor, tensor->end, std::min(file_bytes_, kMaxFileBytes));
    }
    if (tensor->begin != at) {
      return refuseTensor(tensor->begin < at ? Reason::kOverlap : Reason::kHole, *tensor, at, tensor->begin);
    }
    at = aligned(tensor->end, alignment_);
  }
  return true;
}

Status GgufHeader::parse(const char* bytes, size_t size, uint64_t file_bytes, GgufFault* fault) {
  GgufHeader made;
  GgufWalk check(bytes, size, file_bytes, made, false);
  if (!check.run()) {
    *fault = check.fault;
    return Status::kInvalidArgument;
  }
  if (made.entries_.allocate(check.entries) != Status::kOk ||
      made.tensors_.allocate(check.tensors) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  GgufWalk fill(bytes, size, file_bytes, made, true);
  fill.run();  // over bytes that are right
  if (!fill.checkNames() || !fill.checkPlaces()) {
    *fault = fill.fault;
    return Status::kInvalidArgument;
  }
  *this = std::move(made);
  return Status::kOk;
}

}  // namespace ropewalk
