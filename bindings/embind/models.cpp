// Bindings of safetensors and GGUF files.
#include <emscripten/bind.h>

#include <algorithm>

#include "calls.h"
#include "kernels/weight_format.h"
#include "models/gguf.h"
#include "models/safetensors.h"

namespace ropewalk::binding {
namespace {

// File sizes are doubles; a negative one means unknown.
uint64_t fileSize(double bytes) {
  return bytes < 0 ? kUnknownBytes : static_cast<uint64_t>(bytes);
}

// Writes the fault for any status.
template <class Fault>
int writeFault(Status status, const Fault& fault, Pointer out) {
  writeResult(out, fault);
  return number(status);
}

int headerBytesOfSafetensors(Pointer first, double file_bytes, Pointer out) {
  HeaderLength length{};
  const Status status =
      safetensorsHeaderBytes(at<uint8_t>(first), fileSize(file_bytes), &length.bytes, &length.fault);
  writeResult(out, length);
  return number(status);
}

int parseSafetensors(SafetensorsHeader& header, Pointer text, size_t bytes, double data_bytes, Pointer out) {
  SafetensorsFault fault;
  const Status status = header.parse(at<char>(text), bytes, fileSize(data_bytes), &fault);
  return writeFault(status, fault, out);
}

void tensorOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  writeResult(out, header[i]);
}

void writeShape(const uint64_t* shape, size_t rank, double* out) {
  std::transform(shape, shape + rank, out, [](uint64_t n) { return static_cast<double>(n); });
}

void shapeOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  writeShape(header[i].shape, header[i].rank, at<double>(out));
}

int parseGguf(GgufHeader& header, Pointer bytes, size_t size, double file_bytes, Pointer out) {
  GgufFault fault;
  const Status status = header.parse(at<char>(bytes), size, fileSize(file_bytes), &fault);
  return writeFault(status, fault, out);
}

void entryOfGguf(const GgufHeader& header, size_t i, Pointer out) {
  writeResult(out, header.entry(i));
}

// The fields, and kMaxGgufRank sizes behind them.
void tensorOfGguf(const GgufHeader& header, size_t i, Pointer out) {
  writeResult(out, header[i]);
  writeShape(header[i].shape, kMaxGgufRank, at<double>(out) + Fields<GgufTensor>::kDoubles);
}

void pairOfMap(const TextMap& map, size_t i, Pointer out) {
  writeResult(out, map[i]);
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
  class_<GgufHeader>("GgufHeader")
      .constructor<>()
      .property("size", &GgufHeader::size)
      .property("entryCount", &GgufHeader::entryCount)
      .property("version", &GgufHeader::version)
      .function("parse", &parseGguf)
      .function("entry", &entryOfGguf)
      .function("tensor", &tensorOfGguf);
  class_<TextMap>("TextMap")
      .constructor<>()
      .property("size", &TextMap::size)
      .function("readWeightMap", &readWeightMapAt)
      .function("pair", &pairOfMap);
}
