// Files of weights.
#include <emscripten/bind.h>

#include <algorithm>

#include "calls.h"
#include "kernels/weight_type.h"
#include "models/safetensors.h"

namespace ropewalk::binding {
namespace {

// Sizes of files come as doubles; a negative one is unknown.
uint64_t fileSize(double bytes) {
  return bytes < 0 ? kUnknownBytes : static_cast<uint64_t>(bytes);
}

// Six doubles: reason, at, key_at, key_bytes, wanted, found.
int writeFault(Status status, const SafetensorsFault& fault, Pointer out) {
  const double fields[] = {static_cast<double>(static_cast<int>(fault.reason)),
                           static_cast<double>(fault.at),
                           static_cast<double>(fault.key_at),
                           static_cast<double>(fault.key_bytes),
                           static_cast<double>(fault.wanted),
                           static_cast<double>(fault.found)};
  std::copy(std::begin(fields), std::end(fields), at<double>(out));
  return number(status);
}

// The length goes to the place after the fault.
int headerBytesOfSafetensors(Pointer first, double file_bytes, Pointer out) {
  SafetensorsFault fault;
  size_t bytes = 0;
  const Status status = safetensorsHeaderBytes(at<uint8_t>(first), fileSize(file_bytes), &bytes, &fault);
  at<double>(out)[6] = static_cast<double>(bytes);
  return writeFault(status, fault, out);
}

int parseSafetensors(SafetensorsHeader& header, Pointer text, size_t bytes, double data_bytes, Pointer out) {
  SafetensorsFault fault;
  const Status status = header.parse(at<char>(text), bytes, fileSize(data_bytes), &fault);
  return writeFault(status, fault, out);
}

// Six doubles: address and bytes of the name, dtype, rank, begin, end.
void tensorOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  const SafetensorsTensor& t = header[i];
  const double fields[] = {static_cast<double>(reinterpret_cast<Pointer>(t.name)),
                           static_cast<double>(t.name_bytes),
                           static_cast<double>(static_cast<int>(t.dtype)),
                           static_cast<double>(t.rank),
                           static_cast<double>(t.begin),
                           static_cast<double>(t.end)};
  std::copy(std::begin(fields), std::end(fields), at<double>(out));
}

void shapeOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  const SafetensorsTensor& t = header[i];
  std::transform(t.shape, t.shape + t.rank, at<double>(out),
                 [](uint64_t n) { return static_cast<double>(n); });
}

// Four doubles: address and bytes of the key, then of the value.
void pairOfMap(const TextMap& map, size_t i, Pointer out) {
  const TextPair& pair = map[i];
  const double fields[] = {
      static_cast<double>(reinterpret_cast<Pointer>(pair.key)), static_cast<double>(pair.key_bytes),
      static_cast<double>(reinterpret_cast<Pointer>(pair.value)), static_cast<double>(pair.value_bytes)};
  std::copy(std::begin(fields), std::end(fields), at<double>(out));
}

size_t metadataSizeOfSafetensors(const SafetensorsHeader& header) {
  return header.metadata().size();
}
void metadataOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  pairOfMap(header.metadata(), i, out);
}

void widenAt(int type, Pointer values, size_t n, Pointer out) {
  widen(static_cast<WeightType>(type), at<void>(values), n, at<float>(out));
}

int readWeightMapAt(TextMap& map, Pointer text, size_t bytes, Pointer out) {
  SafetensorsFault fault;
  const Status status = readWeightMap(at<char>(text), bytes, &map, &fault);
  return writeFault(status, fault, out);
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(models) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  function("widen", &widenAt);
  function("safetensorsHeaderBytes", &headerBytesOfSafetensors);
  class_<SafetensorsHeader>("SafetensorsHeader")
      .constructor<>()
      .property("size", &SafetensorsHeader::size)
      .property("metadataSize", &metadataSizeOfSafetensors)
      .function("parse", &parseSafetensors)
      .function("tensor", &tensorOfSafetensors)
      .function("shape", &shapeOfSafetensors)
      .function("metadata", &metadataOfSafetensors);
  class_<TextMap>("TextMap")
      .constructor<>()
      .property("size", &TextMap::size)
      .function("readWeightMap", &readWeightMapAt)
      .function("pair", &pairOfMap);
}
