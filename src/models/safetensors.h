// The header of a safetensors file: which tensors it holds and where their bytes lie. Layout of a file: 8
// bytes, the length n of the header as a little-endian integer; n bytes of JSON; the bytes of the tensors,
// which the header has to cover without a hole or an overlap (https://github.com/huggingface/safetensors).
// Stricter than the reference implementation in two ways that the format asks for: no key twice, and a header
// that begins with '{'. Data is not touched here, and a file need not be in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"
#include "models/file_size.h"
#include "models/text_map.h"
#include "status.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class SafetensorsDtype : int {
  kBool = 0,
  kU8 = 1,
  kI8 = 2,
  kI16 = 3,
  kU16 = 4,
  kF16 = 5,
  kBf16 = 6,
  kI32 = 7,
  kU32 = 8,
  kF32 = 9,
  kF64 = 10,
  kI64 = 11,
  kU64 = 12,
  kC64 = 13,  // two float32
  kF8E5M2 = 14,
  kF8E4M3 = 15,
  kF8E8M0 = 16,
  kF8E4M3Fnuz = 17,
  kF8E5M2Fnuz = 18,
  kF6E2M3 = 19,
  kF6E3M2 = 20,
  kF4 = 21
};

// Why a file is refused. The numbers cross the wasm boundary: add at the end, never renumber.
enum class SafetensorsReason : int {
  kNone = 0,
  kTooShort = 1,       // less than the 8 bytes of the length
  kHeaderTooLong = 2,  // more than kMaxHeaderBytes
  kHeaderPastEnd = 3,  // the file ends within its header
  kNotUtf8 = 4,
  kNotAnObject = 5,   // does not begin with '{'
  kSyntax = 6,        // not JSON, or values nested too deep
  kDuplicate = 7,     // a key that its object already has
  kNotText = 8,       // metadata, or a weight_map, that is no object of strings
  kNotATensor = 9,    // an entry that is no object
  kMissing = 10,      // an entry without dtype, shape or data_offsets
  kDtype = 11,        // none of the above
  kShape = 12,        // no list of whole numbers up to 2^53 - 1
  kOffsets = 13,      // no two whole numbers, the second not below the first
  kSize = 14,         // shape and dtype need other than the bytes between the offsets
  kOverlap = 15,      // begins before the tensor before it ends
  kHole = 16,         // begins after the tensor before it ends
  kDataPastEnd = 17,  // the file ends within its tensors
  kDataLeft = 18,     // bytes after the last tensor
  kPartOfByte = 19    // shape and dtype need bits that fill no whole number of bytes
};

struct SafetensorsFault {
  SafetensorsReason reason = SafetensorsReason::kNone;
  uint64_t at = 0;       // in the file: of the header's length, or of the text that is wrong
  size_t key_at = 0;     // in the header: the key of the tensor that is wrong, quotes included,
  size_t key_bytes = 0;  // or none
  uint64_t wanted = 0;   // bytes, or an offset in bytes, where the reason is about one
  uint64_t found = 0;
};

struct SafetensorsTensor {
  const char* name = nullptr;  // UTF-8, without a zero at the end
  size_t name_bytes = 0;
  const uint64_t* shape = nullptr;  // outermost first
  size_t rank = 0;
  uint64_t begin = 0;  // bytes, counted from the end of the header
  uint64_t end = 0;
  SafetensorsDtype dtype = SafetensorsDtype::kBool;
  size_t key_at = 0;  // in the header
};

// The length of the header from the first 8 bytes of a file (fewer, if the file is shorter).
Status safetensorsHeaderBytes(const uint8_t* first, uint64_t file_bytes, size_t* header_bytes,
                              SafetensorsFault* fault);

class SafetensorsHeader {
 public:
  // header is what follows the length, data_bytes the size of what follows it. kInvalidArgument: see the
  // fault. After any failure what was held before is still held.
  Status parse(const char* header, size_t bytes, uint64_t data_bytes, SafetensorsFault* fault);

  size_t size() const { return tensors_.size(); }
  // In the order of their bytes.
  const SafetensorsTensor& operator[](size_t i) const { return tensors_[i]; }
  const TextMap& metadata() const { return metadata_; }
  uint64_t dataBytes() const { return size() == 0 ? 0 : tensors_[size() - 1].end; }

 private:
  friend class HeaderWalk;

  Buffer<SafetensorsTensor> tensors_;
  Buffer<uint64_t> sizes_;  // the shapes, one after the other
  Buffer<char> names_;
  TextMap metadata_;
};

// The weight_map of a model.safetensors.index.json: name of a tensor -> name of its file. Faults are reported
// as above.
Status readWeightMap(const char* text, size_t bytes, TextMap* map, SafetensorsFault* fault);

}  // namespace ropewalk
