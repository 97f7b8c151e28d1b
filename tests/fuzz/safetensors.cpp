// libFuzzer: parses any bytes as a safetensors file and as an index of several. An accepted file must be
// consistent; a refusal must give a reason and an offset within the bytes.
#include <cstdint>
#include <cstring>
#include <vector>

#include "fuzz.h"
#include "models/safetensors.h"

namespace {

using namespace ropewalk;

void checkFault(const SafetensorsFault& fault, uint64_t file_bytes, size_t header_bytes) {
  require(fault.reason != SafetensorsReason::kNone);
  require(fault.at <= file_bytes);
  require(fault.key_at + fault.key_bytes <= header_bytes);
}

void checkMap(const TextMap& map) {
  for (size_t i = 0; i < map.size(); ++i) {
    sum(map[i].key, map[i].key_bytes);
    sum(map[i].value, map[i].value_bytes);
    for (size_t j = i + 1; j < map.size() && map.size() < 64; ++j) {
      require(compareText(map[i].key, map[i].key_bytes, map[j].key, map[j].key_bytes) != 0);
    }
  }
}

void checkTensors(const SafetensorsHeader& header, uint64_t data_bytes) {
  uint64_t at = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const SafetensorsTensor& t = header[i];
    require(t.begin == at && t.begin <= t.end);
    at = t.end;
    sum(t.name, t.name_bytes);
    double numbers = 1;
    for (size_t d = 0; d < t.rank; ++d) numbers *= static_cast<double>(t.shape[d]);
    require((numbers == 0) == (t.begin == t.end));
    for (size_t j = i + 1; j < header.size() && header.size() < 64; ++j) {
      require(compareText(t.name, t.name_bytes, header[j].name, header[j].name_bytes) != 0);
    }
  }
  require(at == header.dataBytes() && (data_bytes == kUnknownBytes || at == data_bytes));
}

void readFile(const std::vector<uint8_t>& file) {
  SafetensorsFault fault;
  size_t n = 0;
  if (safetensorsHeaderBytes(file.data(), file.size(), &n, &fault) != Status::kOk) {
    return checkFault(fault, file.size(), 0);
  }
  const std::vector<char> text(file.begin() + 8, file.begin() + 8 + static_cast<int>(n));
  for (const uint64_t data_bytes : {static_cast<uint64_t>(file.size() - 8 - n), kUnknownBytes}) {
    SafetensorsHeader header;
    if (header.parse(text.data(), n, data_bytes, &fault) != Status::kOk) {
      checkFault(fault, file.size(), n);
      continue;
    }
    checkTensors(header, data_bytes);
    checkMap(header.metadata());
  }
}

void readIndex(const std::vector<uint8_t>& file) {
  const std::vector<char> text(file.begin(), file.end());
  SafetensorsFault fault;
  TextMap map;
  if (readWeightMap(text.data(), text.size(), &map, &fault) != Status::kOk) {
    return checkFault(fault, file.size(), file.size());
  }
  checkMap(map);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> file(data, data + size);
  readFile(file);
  readIndex(file);
  // The same bytes as a header of their own, so that no input is lost to a wrong length.
  std::vector<uint8_t> whole(8);
  for (size_t i = 0; i < 8; ++i) whole[i] = static_cast<uint8_t>(size >> (8 * i));
  whole.insert(whole.end(), data, data + size);
  readFile(whole);
  return 0;
}
