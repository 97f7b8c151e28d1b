// A checksum of 64-bit words against damage by accident. Each step is one to one in the sum and in the word,
// so that a change within one word always shows; larger ones escape with a chance of 2^-64. Not against
// forgery.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ropewalk {

class Checksum {
 public:
  void add(uint64_t word) { sum_ = std::rotl(sum_ ^ word, 29) * 0x9e3779b97f4a7c15; }

  // A multiple of 8 bytes, aligned or not.
  void add(const uint8_t* bytes, size_t size) {
    for (size_t i = 0; i + 8 <= size; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + i, 8);
      add(word);
    }
  }

  uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 0x6a09e667f3bcc908;  // the fraction of sqrt 2: zeros have a sum of their own
};

}  // namespace ropewalk
