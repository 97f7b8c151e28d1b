// The header of a GGUF file: its metadata, which tensors it holds and where their bytes lie. Layout of a
// file, little-endian: "GGUF", the version, the number of tensors, the number of entries of metadata, the
// entries, the descriptions of the tensors; then, from the next multiple of general.alignment on, the bytes
// of the tensors, each at such a multiple (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
// Tensors cover the data, in any order, without a hole or an overlap besides the padding. Stricter than ggml:
// text is UTF-8, and a bool is 0 or 1. Data is not touched here, and a file need not be in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"
#include "models/file_size.h"
#include "status.h"

namespace ropewalk {

// How the weights of a tensor are stored. Not the numbers of ggml: those have gaps. These cross the wasm
// boundary: add at the end, never renumber.
enum class GgufType : int {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 4,
  kQ5_1 = 5,
  kQ8_0 = 6,
  kQ8_1 = 7,
  kQ2_K = 8,
  kQ3_K = 9,
  kQ4_K = 10,
  kQ5_K = 11,
  kQ6_K = 12,
  kQ8_K = 13,
  kIq2Xxs = 14,
  kIq2Xs = 15,
  kIq3Xxs = 16,
  kIq1S = 17,
  kIq4Nl = 18,
  kIq3S = 19,
  kIq2S = 20,
  kIq4Xs = 21,
  kI8 = 22,
  kI16 = 23,
  kI32 = 24,
  kI64 = 25,
  kF64 = 26,
  kIq1M = 27,
  kBf16 = 28,
  kTq1_0 = 29,
  kTq2_0 = 30,
  kMxfp4 = 31,
  kNvfp4 = 32,
  kQ1_0 = 33,
  kQ2_0 = 34
};

// The type of a value of the metadata, by the numbers of the format.
enum class GgufValueType : int {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12
};

// Why a file is refused. The numbers cross the wasm boundary: add at the end, never renumber.
enum class GgufReason : int {
  kNone = 0,
  kMore = 1,   // not a refusal: the header goes on after the bytes at hand
  kMagic = 2,  // does not begin with "GGUF"
  kVersion = 3,
  kBigEndian = 4,
  kHeaderTooLong = 5,  // more than kMaxHeaderBytes
  kHeaderPastEnd = 6,  // the file ends within its header
  kEntryCount = 7,     // more entries than its bytes can hold
  kTensorCount = 8,    // the same of tensors
  kTextPastEnd = 9,    // a text that goes on after the end of the file
  kArrayPastEnd = 10,  // the same of an array
  kNotUtf8 = 11,
  kEmptyKey = 12,
  kDuplicate = 13,      // a key or the name of a tensor that came before
  kValueType = 14,      // none of the above
  kNestedArray = 15,    // an array of arrays, which ggml refuses as well
  kBool = 16,           // neither 0 nor 1
  kAlignmentType = 17,  // general.alignment is no uint32
  kAlignmentSize = 18,  // general.alignment is no power of two
  kRank = 19,           // more than kMaxGgufRank sizes
  kShape = 20,          // a size above 2^53 - 1
  kTensorType = 21,     // a type that the format does not have, or no longer has
  kBlock = 22,          // rows that are no whole number of blocks
  kSize = 23,           // more bytes than any file
  kOffset = 24,         // no multiple of the alignment
  kOverlap = 25,        // begins before the tensor before it ends
  kHole = 26,           // begins after the padding behind the tensor before it
  kDataPastEnd = 27     // the file ends within its tensors
};

inline constexpr size_t kMaxGgufRank = 4;

struct GgufFault {
  GgufReason reason = GgufReason::kNone;
  uint64_t at = 0;        // in the file: what is wrong
  size_t name_at = 0;     // in the file: the key of the entry, or the name of the tensor, that is wrong,
  size_t name_bytes = 0;  // or none
  bool in_tensor = false;
  uint64_t wanted = 0;  // bytes, offsets or numbers, where the reason is about one. kMore: as many bytes are
  uint64_t found = 0;   // needed, from the start of the file
};

// Keys and names point into the bytes that were parsed.
struct GgufEntry {
  const char* key = nullptr;  // UTF-8, without a zero at the end
  size_t key_bytes = 0;
  GgufValueType type = GgufValueType::kUint8;
  GgufValueType element = GgufValueType::kUint8;  // of an array; else the type
  size_t count = 0;                               // of an array; else 1
  size_t at = 0;                                  // of the value in the file; of an array's first element
};

struct GgufTensor {
  const char* name = nullptr;
  size_t name_bytes = 0;
  GgufType type = GgufType::kF32;
  size_t rank = 0;
  uint64_t shape[kMaxGgufRank] = {};  // outermost first, the reverse of the order in the file
  uint64_t begin = 0;                 // bytes, from the start of the file
  uint64_t end = 0;
  size_t block =
      0;  // weights of a block, and its bytes; 1 and the size of a number where there are no blocks
  size_t block_bytes = 0;
};

class GgufHeader {
 public:
  // The first `size` bytes of a file of `file_bytes` bytes, kUnknownBytes where that is not known yet.
  // kInvalidArgument: see the fault; after kMore call again with more of the file. After any failure what was
  // held before is still held. Nothing is allocated before all counts, lengths and sizes are
  // known to be right.
  Status parse(const char* bytes, size_t size, uint64_t file_bytes, GgufFault* fault);

  size_t size() const { return tensors_.size(); }
  // In the order of their bytes.
  const GgufTensor& operator[](size_t i) const { return tensors_[i]; }
  size_t entryCount() const { return entries_.size(); }
  // In the order of the file.
  const GgufEntry& entry(size_t i) const { return entries_[i]; }
  uint32_t version() const { return version_; }
  size_t bytes() const { return bytes_; }  // of the header, without the padding behind it

 private:
  friend class GgufWalk;

  Buffer<GgufEntry> entries_;
  Buffer<GgufTensor> tensors_;
  uint32_t version_ = 0;
  size_t bytes_ = 0;
};

}  // namespace ropewalk
