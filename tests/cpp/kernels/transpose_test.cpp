#include "kernels/transpose.h"

#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("A transposed matrix has every number in its place and touches no other", "[kernels]") {
  Random random(1);
  for (size_t rows = 0; rows <= 9; ++rows) {
    for (size_t columns = 0; columns <= 13; ++columns) {
      const size_t in_stride = columns + 2;
      const size_t out_stride = rows + 3;
      const std::vector<float> in = random.floats(rows * in_stride + 1);
      std::vector<float> out(columns * out_stride + 1, -9);
      std::vector<float> expected = out;
      for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < columns; ++c) expected[c * out_stride + r] = in[r * in_stride + c];
      }
      transpose(out.data(), out_stride, in.data(), in_stride, rows, columns);
      INFO(rows << " x " << columns);
      CHECK(sameBits(out, expected));
    }
  }
}

}  // namespace ropewalk::test
