// What fuzzers have in common: an input that is read as numbers, and checks that end the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Reads every byte, so that the sanitizer reports text outside of the file.
inline size_t sum(const char* text, size_t bytes) {
  size_t total = 0;
  for (size_t i = 0; i < bytes; ++i) total += static_cast<unsigned char>(text[i]);
  return total;
}

// The bytes of an input as numbers; zeros once they are used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  size_t left() const { return left_; }

  template <class T>
  T take() {
    T value = {};
    const size_t bytes = left_ < sizeof(T) ? left_ : sizeof(T);
    if (bytes != 0) std::memcpy(&value, at_, bytes);
    at_ += bytes;
    left_ -= bytes;
    return value;
  }
  bool flag() { return take<uint8_t>() % 2 == 1; }
  size_t upTo(size_t most) {
    return most < 255 ? take<uint8_t>() % (most + 1) : take<uint32_t>() % (most + 1);
  }
  size_t from(size_t least, size_t most) { return least + upTo(most - least); }

  template <class T>
  T oneOf(std::initializer_list<T> values) {
    return values.begin()[upTo(values.size() - 1)];
  }
  // Any double, or one that means something to most options.
  double number() {
    if (flag()) return take<double>();
    return oneOf({0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 32.0, 2048.0, 8192.0, 10000.0, 500000.0, 1e6, -1.0});
  }
  // Positions near 0, near the ends of their range, or anywhere.
  int64_t position() {
    const auto step = static_cast<int64_t>(take<int8_t>());
    return oneOf({step, (int64_t{1} << 53) - 1 - step, -(int64_t{1} << 53) + step, take<int64_t>()});
  }
  // In [-4, 4).
  std::vector<float> floats(size_t count) {
    std::vector<float> x(count);
    for (float& value : x) value = static_cast<float>(take<int8_t>()) / 32;
    return x;
  }

 private:
  const uint8_t* at_;
  size_t left_;
};
