// Builds small GGUF files for tests, byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/gguf.h"

namespace ropewalk::test {

// A number in little-endian bytes.
template <class T>
std::string le(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

inline std::string ggufText(const std::string& text) {
  return le(uint64_t{text.size()}) + text;
}

inline std::string ggufEntry(const std::string& key, uint32_t type, const std::string& value) {
  return ggufText(key) + le(type) + value;
}

inline std::string ggufArray(uint32_t type, uint64_t count, const std::string& elements) {
  return le(type) + le(count) + elements;
}

// The sizes are in the order of the file, innermost first.
inline std::string ggufTensor(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type,
                              uint64_t offset) {
  std::string bytes = ggufText(name) + le(static_cast<uint32_t>(sizes.size()));
  for (const uint64_t size : sizes) bytes += le(size);
  return bytes + le(type) + le(offset);
}

struct GgufParts {
  std::vector<std::string> entries;
  std::vector<std::string> tensors;
  uint32_t version = 3;
  size_t alignment = 32;
};

// A header, up to where the data begins.
inline std::string ggufHeader(const GgufParts& parts) {
  std::string bytes =
      "GGUF" + le(parts.version) + le(uint64_t{parts.tensors.size()}) + le(uint64_t{parts.entries.size()});
  for (const std::string& entry : parts.entries) bytes += entry;
  for (const std::string& tensor : parts.tensors) bytes += tensor;
  return bytes;
}

inline std::string ggufFile(const GgufParts& parts, size_t data_bytes) {
  std::string bytes = ggufHeader(parts);
  bytes.resize((bytes.size() + parts.alignment - 1) / parts.alignment * parts.alignment);
  return bytes + std::string(data_bytes, 'd');
}

// Parses the first `size` bytes, in memory of exactly that size.
inline Status parseGguf(const std::string& file, size_t size, uint64_t file_bytes, GgufHeader& header,
                        GgufFault* fault) {
  const std::vector<char> bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
  return header.parse(bytes.data(), size, file_bytes, fault);
}

}  // namespace ropewalk::test
