// Builds small safetensors files for tests, byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/safetensors.h"

namespace ropewalk::test {

// Text in a buffer of exactly its size, so that the sanitizer sees the first byte beyond it.
inline std::vector<char> exactly(const std::string& text) {
  return {text.begin(), text.end()};
}

inline std::string tensorText(const std::string& name, const std::string& dtype, const std::string& shape,
                              uint64_t begin, uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

inline std::string lengthBytes(uint64_t n) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(n >> (8 * i) & 0xFF);
  return bytes;
}

inline std::string fileOf(const std::string& header, const std::string& data) {
  return lengthBytes(header.size()) + header + data;
}

// What a reader of a whole file does.
inline Status openFile(const std::string& file, SafetensorsHeader& header, SafetensorsFault* fault) {
  const std::vector<char> bytes = exactly(file);
  const std::vector<uint8_t> first(bytes.begin(),
                                   bytes.begin() + static_cast<int>(std::min(bytes.size(), size_t{8})));
  size_t n = 0;
  const Status status = safetensorsHeaderBytes(first.data(), bytes.size(), &n, fault);
  if (status != Status::kOk) return status;
  const std::vector<char> text(bytes.begin() + 8, bytes.begin() + 8 + static_cast<int>(n));
  return header.parse(text.data(), n, bytes.size() - 8 - n, fault);
}

}  // namespace ropewalk::test
