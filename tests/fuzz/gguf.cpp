// libFuzzer: parses any bytes as a GGUF file, whole and in pieces. An accepted file must be consistent; a
// refusal must give a reason and an offset within the bytes; a piece must be asked to grow, or refused as the
// whole is.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "fuzz.h"
#include "models/gguf.h"

namespace {

using namespace ropewalk;

void checkFault(const GgufFault& fault, size_t size, uint64_t file_bytes) {
  require(fault.reason != GgufReason::kNone);
  require(fault.at <= file_bytes);
  require(fault.name_bytes == 0 || fault.name_at + fault.name_bytes <= size);
  if (fault.reason == GgufReason::kMore) require(fault.wanted > size && fault.wanted <= file_bytes);
}

void checkHeader(const GgufHeader& header, const char* bytes, size_t size, uint64_t file_bytes) {
  require(header.bytes() <= size);
  for (size_t i = 0; i < header.entryCount(); ++i) {
    const GgufEntry& entry = header.entry(i);
    require(entry.key_bytes > 0 && entry.at <= header.bytes() && entry.element != GgufValueType::kArray);
    require(entry.key >= bytes && entry.key + entry.key_bytes <= bytes + size);
    sum(entry.key, entry.key_bytes);
  }
  uint64_t at = header.bytes();
  for (size_t i = 0; i < header.size(); ++i) {
    const GgufTensor& tensor = header[i];
    sum(tensor.name, tensor.name_bytes);
    require(tensor.begin >= at && tensor.begin <= tensor.end && tensor.end <= file_bytes);
    require(tensor.rank <= kMaxGgufRank);
    double weights = 1;
    for (size_t d = 0; d < tensor.rank; ++d) weights *= static_cast<double>(tensor.shape[d]);
    require(weights / static_cast<double>(tensor.block) * static_cast<double>(tensor.block_bytes) ==
            static_cast<double>(tensor.end - tensor.begin));
    at = tensor.end;
  }
}

Status parse(const std::vector<char>& bytes, uint64_t file_bytes, GgufFault* fault) {
  GgufHeader header;
  const Status status = header.parse(bytes.data(), bytes.size(), file_bytes, fault);
  if (status == Status::kOk) {
    checkHeader(header, bytes.data(), bytes.size(), file_bytes);
  } else {
    checkFault(*fault, bytes.size(), file_bytes);
  }
  return status;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<char> whole(data, data + size);
  GgufFault fault;
  const Status status = parse(whole, size, &fault);
  require(status == Status::kOk || fault.reason != GgufReason::kMore);
  GgufFault unknown;
  (void)parse(whole, kUnknownBytes, &unknown);

  // As a reader does: as many bytes as were asked for, until the answer is the one for the whole.
  size_t known = std::min<size_t>(size, 24);
  for (;;) {
    GgufFault part;
    const Status grown =
        parse({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(known)}, size, &part);
    if (grown != Status::kOk && part.reason == GgufReason::kMore) {
      known = static_cast<size_t>(part.wanted);
      continue;
    }
    require(grown == status);
    require(status == Status::kOk || (part.reason == fault.reason && part.at == fault.at));
    return 0;
  }
}
