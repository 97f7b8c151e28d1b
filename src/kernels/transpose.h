// A matrix with rows and columns exchanged.
#pragma once

#include <cstddef>

namespace ropewalk {

// out[c][r] = in[r][c], words of four bytes, whatever they hold, at any address; the strides are from row to
// row, in bytes.
void transposeWords(unsigned char* out, size_t out_stride, const unsigned char* in, size_t in_stride,
                    size_t rows, size_t columns);

// The same of numbers, and the strides in numbers.
inline void transpose(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows,
                      size_t columns) {
  transposeWords(reinterpret_cast<unsigned char*>(out), out_stride * sizeof(float),
                 reinterpret_cast<const unsigned char*>(in), in_stride * sizeof(float), rows, columns);
}

}  // namespace ropewalk
