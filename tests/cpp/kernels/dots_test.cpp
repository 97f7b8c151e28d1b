#include "kernels/dots.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("Dot products with panels have the bits of a tile and are right", "[kernels]") {
  Random random(3);
  for (size_t rows = 1; rows <= kTileRows; ++rows) {
    for (const size_t k : {0u, 1u, 3u, 8u, 64u}) {
      for (size_t panels = 0; panels <= 9; ++panels) {
        const size_t width = panels * kTileColumns;
        const size_t stride = width + 3;
        const std::vector<float> packed = random.floats(rows * k);
        const std::vector<float> b = random.floats(width * k);
        std::vector<float> c(rows * stride, kNaN);
        dotsOfPanels(rows, c.data(), stride, packed.data(), b.data(), panels, k);
        std::vector<float> tiles(rows * stride, kNaN);
        Worst worst;
        for (size_t p = 0; p < panels; ++p) {
          const float* const panel = b.data() + p * kTileColumns * k;
          tile(rows, tiles.data() + p * kTileColumns, stride, false, packed.data(), panel, kTileColumns, k);
          for (size_t r = 0; r < rows; ++r) {
            for (size_t i = 0; i < kTileColumns; ++i) {
              double sum = 0;
              double work = 0;
              for (size_t l = 0; l < k; ++l) {
                const double product =
                    static_cast<double>(packed[l * rows + r]) * panel[l * kTileColumns + i];
                sum += product;
                work += std::fabs(product);
              }
              // Each product and each sum rounds once.
              worst.add(c[r * stride + p * kTileColumns + i], sum,
                        (static_cast<double>(k) + 1) * kUnit * work);
            }
          }
        }
        INFO(rows << " rows, " << panels << " panels of " << k);
        CHECK(sameBits(c, tiles));
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("A tile of more columns has the bits of tiles side by side", "[kernels]") {
  Random random(2);
  constexpr size_t kStride = 16;
  constexpr size_t kSteps = 13;
  for (size_t rows = 1; rows <= kTileRows; ++rows) {
    for (size_t columns = kTileColumns; columns <= 9 * kTileColumns; columns += kTileColumns) {
      const std::vector<float> a = random.floats(rows * kStride);
      const std::vector<float> b = random.floats(kSteps * columns);
      std::vector<float> wide(rows * columns, kNaN);
      std::vector<float> narrow(rows * columns, kNaN);
      tilesOfRows<kStride>(rows, wide.data(), columns, false, a.data(), b.data(), columns, kSteps, columns);
      for (size_t j = 0; j < columns; j += kTileColumns)
        tileOfRows<kStride>(rows, narrow.data() + j, columns, false, a.data(), b.data() + j, columns, kSteps);
      INFO(rows << " rows, " << columns << " columns");
      CHECK(sameBits(wide, narrow));
    }
  }
}

}  // namespace ropewalk::test
