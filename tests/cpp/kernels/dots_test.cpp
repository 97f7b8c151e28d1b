#include "kernels/dots.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// c [rows][n] = a b^T by tiles of a turned b: what dots() promises the bits of.
std::vector<float> byTiles(const std::vector<float>& packed, const std::vector<float>& b, size_t stride,
                           size_t rows, size_t n, size_t k) {
  const size_t width = (n + kTileColumns - 1) / kTileColumns * kTileColumns;
  std::vector<float> turned((k + 1) * width);  // room for k = 0 to point at
  for (size_t j = 0; j < n; ++j) {
    for (size_t l = 0; l < k; ++l) turned[l * width + j] = b[j * stride + l];
  }
  std::vector<float> c(rows * width);
  for (size_t j = 0; j < width; j += kTileColumns)
    tile(rows, c.data() + j, width, false, packed.data(), turned.data() + j, width, k);
  return c;
}

}  // namespace

TEST_CASE("Dot products have the bits of a tile and are right", "[kernels]") {
  Random random(1);
  for (size_t rows = 1; rows <= kTileRows; ++rows) {
    for (const size_t k : {0u, 1u, 3u, 4u, 7u, 8u, 64u, 67u}) {
      for (const size_t n : {1u, 3u, 4u, 5u, 8u, 15u, 16u, 17u, 31u, 37u}) {
        INFO(rows << " rows, " << n << " others of " << k);
        const size_t stride = k + 2;
        const size_t width = (n + kTileColumns - 1) / kTileColumns * kTileColumns;
        const std::vector<float> a = random.floats(rows * k);
        const std::vector<float> b = random.floats((n - 1) * stride + k);  // nothing behind the last number
        std::vector<float> packed(a.size());
        packTile(packed.data(), a.data(), k, rows, k);
        std::vector<float> c(rows * width, kNaN);
        dots(rows, c.data(), width, packed.data(), b.data(), stride, n, k);
        const std::vector<float> tiles = byTiles(packed, b, stride, rows, n, k);
        Worst worst;
        size_t different = 0;
        for (size_t r = 0; r < rows; ++r) {
          different += !sameBits(&c[r * width], &tiles[r * width], n);
          for (size_t j = 0; j < n; ++j) {
            double sum = 0;
            double work = 0;
            for (size_t l = 0; l < k; ++l) {
              const double product = static_cast<double>(a[r * k + l]) * b[j * stride + l];
              sum += product;
              work += std::fabs(product);
            }
            // Each product and each sum rounds once.
            worst.add(c[r * width + j], sum, (static_cast<double>(k) + 1) * kUnit * work);
          }
        }
        CHECK(different == 0);
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
