// What fuzzers of files have in common.
#pragma once

#include <cstddef>
#include <cstdlib>

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Reads every byte, so that the sanitizer reports text outside of the file.
inline size_t sum(const char* text, size_t bytes) {
  size_t total = 0;
  for (size_t i = 0; i < bytes; ++i) total += static_cast<unsigned char>(text[i]);
  return total;
}
