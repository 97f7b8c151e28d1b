#include "kernels/packed_matrix.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "catch.h"
#include "kernels/weight_format.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// Rows of k weights as a file holds them: blocks at an odd address.
std::vector<unsigned char> fileOf(WeightType type, const std::vector<float>& w, size_t k) {
  const WeightFormat& format = formatOf(type);
  std::vector<unsigned char> bytes(1 + (k == 0 ? 0 : w.size() / k * format.rowBytes(k)));
  std::vector<float> row(format.blocks(k) * format.block);
  unsigned char* to = bytes.data() + 1;
  for (size_t first = 0; first < w.size(); first += k, to += format.rowBytes(k)) {
    std::copy_n(w.data() + first, k, row.data());
    withFormat(type, [&](auto f) { f.narrow(row.data(), row.size(), to); });
  }
  return bytes;
}

std::vector<float> rowsOf(const PackedMatrix& w) {
  std::vector<float> rows(w.rows() * w.columns(), kNaN);
  for (size_t r = 0; r < w.rows(); ++r) w.row(r, rows.data() + r * w.columns());
  return rows;
}

// What is left of x in a type of two bytes, by the definition: the nearest multiple of its last place.
float rounded(WeightType type, float x) {
  const int digits = type == WeightType::kFloat16 ? 11 : 8;
  const int lowest = type == WeightType::kFloat16 ? -24 : -133;
  if (x == 0 || !std::isfinite(x)) return x;
  const int last = std::max(std::ilogb(x) - digits + 1, lowest);
  const double steps = std::nearbyint(std::ldexp(static_cast<double>(x), -last));
  return static_cast<float>(std::copysign(std::ldexp(steps, last), x));
}

Status packInto(PackedMatrix& packed, const std::vector<float>& w, size_t n, size_t k, WeightType stored) {
  return packed.pack(WeightType::kFloat32, w.data(), n, k, stored);
}

}  // namespace

TEST_CASE("Weights of a file stay what they are, at any address and in any shape", "[kernels]") {
  Random random(1);
  for (const WeightFormat& format : kWeightFormats) {
    if (format.row_scales) continue;  // no format of files
    for (const size_t n : std::initializer_list<size_t>{0, 1, 15, 16, 17, 50}) {
      for (const size_t k : std::initializer_list<size_t>{0, 1, 3, 4, 67, 257, 600}) {
        const std::vector<unsigned char> bytes = fileOf(format.type, random.floats(n * k, 3), k);
        std::vector<float> w(n * k);
        for (size_t r = 0; r < n; ++r)
          widen(format.type, bytes.data() + 1 + r * format.rowBytes(k), k, w.data() + r * k);
        for (const WeightType stored : {format.type, WeightType::kFloat32}) {
          PackedMatrix packed;
          REQUIRE(packed.pack(format.type, bytes.data() + 1, n, k, stored) == Status::kOk);
          INFO("type " << static_cast<int>(format.type) << ", n = " << n << ", k = " << k);
          CHECK(sameBits(rowsOf(packed), w));
          CHECK(packed.bytes() == (n + 15) / 16 * 16 * formatOf(stored).rowBytes(k));
        }
      }
    }
  }
}

TEST_CASE("Every float16 and bfloat16 comes back with its bits", "[kernels]") {
  for (const WeightType type : {WeightType::kFloat16, WeightType::kBfloat16}) {
    std::vector<uint16_t> all(0x10000);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    PackedMatrix packed;
    REQUIRE(packed.pack(type, all.data(), 32, 2048, type) == Status::kOk);
    const std::vector<float> rows = rowsOf(packed);
    std::vector<float> expected(all.size());
    widen(type, all.data(), all.size(), expected.data());
    int misses = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      // Which NaN it is may change where a NaN is made quiet.
      misses += std::isnan(expected[i]) ? !std::isnan(rows[i]) : !sameBits(&rows[i], &expected[i], 1);
    }
    CHECK(misses == 0);
  }
}

TEST_CASE("Narrowing rounds to nearest, ties to even", "[kernels]") {
  Random random(2);
  for (const WeightType type : {WeightType::kFloat16, WeightType::kBfloat16}) {
    std::vector<float> w;
    for (int exponent = -160; exponent < 15; ++exponent) {
      for (int i = 0; i < 40; ++i) {
        w.push_back(static_cast<float>(std::ldexp(random.uniform(-2, 2), exponent)));
        // 12 significant bits: every other one is a tie for float16; 9 for bfloat16.
        w.push_back(
            static_cast<float>(std::ldexp(static_cast<double>(random.between(2048, 4095)), exponent - 11)));
        w.push_back(
            static_cast<float>(std::ldexp(static_cast<double>(random.between(256, 511)), exponent - 8)));
      }
    }
    for (const float v : {0.0f, -0.0f, 65504.0f, -65519.996f, 0x1p-24f, 0x1p-25f, 0x1.8p-24f, kInfinity})
      w.push_back(v);
    PackedMatrix packed;
    REQUIRE(packInto(packed, w, 1, w.size(), type) == Status::kOk);
    const std::vector<float> row = rowsOf(packed);
    int misses = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      const float expected = rounded(type, w[i]);
      misses += !sameBits(&row[i], &expected, 1);
    }
    CHECK(misses == 0);
  }
}

TEST_CASE("Narrowing keeps NaN, and every type but int8 keeps infinity", "[kernels]") {
  const float quiet = std::bit_cast<float>(0x7fc00000u);
  const float few_bits = std::bit_cast<float>(0x7f800001u);  // its mantissa's upper bits are all 0
  const std::vector<float> w = {quiet, few_bits, -few_bits, kInfinity, -kInfinity};
  for (const WeightType type : {WeightType::kFloat32, WeightType::kFloat16, WeightType::kBfloat16}) {
    PackedMatrix packed;
    REQUIRE(packInto(packed, w, 1, 5, type) == Status::kOk);
    const std::vector<float> row = rowsOf(packed);
    for (size_t i = 0; i < 3; ++i) CHECK(std::isnan(row[i]));
    CHECK(row[3] == kInfinity);
    CHECK(row[4] == -kInfinity);
    if (type == WeightType::kFloat16) CHECK(!packed.finite());
    REQUIRE(packInto(packed, {1}, 1, 1, type) == Status::kOk);
    CHECK(packed.finite());
  }
}

TEST_CASE("int8 keeps every weight to half a step of its row", "[kernels]") {
  Random random(3);
  for (const double size : {1e-44, 1e-39, 0x1p-126, 1e-30, 1e-3, 1.0, 3e38}) {
    constexpr size_t kN = 20;
    constexpr size_t kK = 300;
    std::vector<float> w = random.floats(kN * kK, size);
    std::fill_n(w.begin(), kK, 0.0f);  // a row of zeros
    w[5 * kK] = static_cast<float>(size);
    w[6 * kK] = -static_cast<float>(size);
    PackedMatrix packed;
    REQUIRE(packInto(packed, w, kN, kK, WeightType::kInt8) == Status::kOk);
    CHECK(packed.bytes() == 32 * kK + 32 * sizeof(float));
    const std::vector<float> rows = rowsOf(packed);
    Worst worst;
    for (size_t j = 0; j < kN; ++j) {
      double largest = 0;
      for (size_t l = 0; l < kK; ++l)
        largest = std::max(largest, std::fabs(static_cast<double>(w[j * kK + l])));
      const double scale = std::max(largest / 127, 0x1p-126);
      // Scale, quotient and product round once each, relative to at most 127 steps.
      const double tolerance = scale / 2 + 3 * 127 * kUnit * scale + 0x1p-149;
      for (size_t l = 0; l < kK; ++l) worst.add(rows[j * kK + l], w[j * kK + l], tolerance);
    }
    INFO("size = " << size);
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("int8 holds the largest float32", "[kernels]") {
  const std::vector<float> w = {3.40282347e38f, -3.40282347e38f, 1e38f};
  PackedMatrix packed;
  REQUIRE(packInto(packed, w, 1, 3, WeightType::kInt8) == Status::kOk);
  for (const float v : rowsOf(packed)) CHECK(std::isfinite(v));
}

TEST_CASE("A matrix that arrives in slices is that which arrives whole", "[kernels]") {
  constexpr size_t kN = 45;
  constexpr size_t kK = 270;
  Random random(4);
  const std::vector<float> w = random.floats(kN * kK);
  for (const WeightFormat& format : kWeightFormats) {
    for (const WeightType from : {WeightType::kFloat32, format.type}) {
      if (formatOf(from).row_scales) continue;  // no format of files
      const std::vector<unsigned char> bytes = fileOf(from, w, kK);
      PackedMatrix whole;
      REQUIRE(whole.pack(from, bytes.data() + 1, kN, kK, format.type) == Status::kOk);
      for (const size_t slice : std::initializer_list<size_t>{1, 3, 7, 16, 21, 44, 45}) {
        PackedMatrix packed;
        REQUIRE(packed.allocate(kN, kK, format.type) == Status::kOk);
        CHECK(rowsOf(packed) == std::vector<float>(kN * kK, 0.0f));
        for (size_t first = 0; first < kN; first += slice) {
          const size_t count = std::min(slice, kN - first);
          const unsigned char* rows = bytes.data() + 1 + first * formatOf(from).rowBytes(kK);
          REQUIRE(packed.packRows(first, count, from, rows) == Status::kOk);
        }
        INFO("type " << static_cast<int>(format.type) << " from " << static_cast<int>(from)
                     << ", slice = " << slice);
        CHECK(std::memcmp(packed.panel(0), whole.panel(0), whole.bytes()) == 0);
      }
    }
  }
}

TEST_CASE("A number that is not finite is seen in whatever row, block and half it is", "[kernels]") {
  constexpr size_t kN = 20;
  constexpr size_t kK = 512;
  Random random(7);
  const std::vector<float> w = random.floats(kN * kK);
  const auto finiteWith = [&](WeightType type, size_t row, size_t at, uint16_t bits) {
    std::vector<unsigned char> bytes = fileOf(type, w, kK);
    std::memcpy(bytes.data() + 1 + row * formatOf(type).rowBytes(kK) + at, &bits, sizeof bits);
    PackedMatrix packed;
    REQUIRE(packed.pack(type, bytes.data() + 1, kN, kK, type) == Status::kOk);
    return packed.finite();
  };
  for (const size_t row : std::initializer_list<size_t>{0, 3, 15, 16, 19}) {
    for (const uint16_t bits : std::initializer_list<uint16_t>{0x7c00, 0xfc00, 0x7e01, 0xfc01}) {
      for (const size_t at : std::initializer_list<size_t>{0, 2, 510, 1022})
        CHECK(!finiteWith(WeightType::kFloat16, row, at, bits));
      for (const WeightType type :
           {WeightType::kQ4_1, WeightType::kQ5_1, WeightType::kQ4_K, WeightType::kQ5_K}) {
        const size_t block = formatOf(type).block_bytes;
        for (const size_t at : {size_t{0}, size_t{2}, block, block + 2})
          CHECK(!finiteWith(type, row, at, bits));
      }
      for (const WeightType type : {WeightType::kQ4_0, WeightType::kQ5_0, WeightType::kQ8_0}) {
        for (const size_t at : std::initializer_list<size_t>{0, 1})
          CHECK(!finiteWith(type, row, at * formatOf(type).block_bytes, bits));
      }
      CHECK(!finiteWith(WeightType::kQ6_K, row, 208, bits));
    }
    for (const WeightFormat& format : kWeightFormats) {
      if (format.row_scales) continue;
      for (const uint16_t bits : std::initializer_list<uint16_t>{0x7bff, 0xfbff, 0x0000})
        CHECK(finiteWith(format.type, row, format.type == WeightType::kQ6_K ? 208 : 0, bits));
    }
  }
}

TEST_CASE("A matrix stored inputs first is packed as its transpose", "[kernels]") {
  constexpr size_t kN = 35;
  constexpr size_t kK = 270;
  Random random(5);
  std::vector<float> w = random.floats(kN * kK);
  std::vector<float> b(w.size());
  for (size_t i = 0; i < w.size(); ++i) b[i % kK * kN + i / kK] = w[i] = rounded(WeightType::kFloat16, w[i]);
  for (const WeightType from : {WeightType::kFloat32, WeightType::kFloat16}) {
    const std::vector<unsigned char> straight = fileOf(from, w, kK);
    const std::vector<unsigned char> bytes = fileOf(from, b, kN);
    for (const WeightType stored : {WeightType::kFloat16, WeightType::kInt8}) {
      PackedMatrix expected;
      REQUIRE(expected.pack(from, straight.data() + 1, kN, kK, stored) == Status::kOk);
      PackedMatrix packed;
      REQUIRE(packed.pack(from, bytes.data() + 1, kN, kK, stored, WeightLayout::kInOut) == Status::kOk);
      CHECK(sameBits(rowsOf(packed), rowsOf(expected)));
    }
  }
}

TEST_CASE("What a matrix refuses leaves it as it was", "[kernels]") {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};
  PackedMatrix packed;
  CHECK(packed.rows() == 0);
  const auto unchanged = [&] { return packed.rows() == 3 && packed.columns() == 2 && rowsOf(packed) == w; };
  REQUIRE(packInto(packed, w, 3, 2, WeightType::kFloat16) == Status::kOk);
  const std::vector<float> large = {1, 65520};
  CHECK(packed.packRows(0, 1, WeightType::kFloat32, large.data()) == Status::kInvalidArgument);
  CHECK(packed.packRows(2, 2, WeightType::kFloat32, w.data()) == Status::kInvalidShape);
  CHECK(packed.packRows(4, 0, WeightType::kFloat32, w.data()) == Status::kInvalidShape);
  CHECK(packed.packRows(1, SIZE_MAX, WeightType::kFloat32, w.data()) == Status::kInvalidShape);
  CHECK(packed.packRows(0, 1, WeightType::kInt8, w.data()) == Status::kInvalidArgument);
  CHECK(packed.packRows(3, 0, WeightType::kFloat32, nullptr) == Status::kOk);
  CHECK(packed.pack(WeightType::kInt8, w.data(), 1, 1, WeightType::kInt8) == Status::kInvalidArgument);
  CHECK(packInto(packed, large, 1, 2, WeightType::kFloat16) == Status::kInvalidArgument);
  CHECK(packInto(packed, {-65520.0f}, 1, 1, WeightType::kFloat16) == Status::kInvalidArgument);
  CHECK(packInto(packed, {3.4e38f}, 1, 1, WeightType::kBfloat16) == Status::kInvalidArgument);
  for (const float v : {kInfinity, -kInfinity, kNaN}) {
    CHECK(packInto(packed, {0, v}, 1, 2, WeightType::kInt8) == Status::kInvalidArgument);
  }
  const uint16_t huge = 0x7f00;  // as a bfloat16
  CHECK(packed.pack(WeightType::kBfloat16, &huge, 1, 1, WeightType::kFloat16) == Status::kInvalidArgument);
  CHECK(unchanged());
}

TEST_CASE("A matrix too large to pack leaves the packed one as it was", "[kernels]") {
  const std::vector<float> w = {1, 2};
  PackedMatrix packed;
  REQUIRE(packInto(packed, w, 1, 2, WeightType::kFloat32) == Status::kOk);
  CHECK(packInto(packed, w, SIZE_MAX / 16, 32, WeightType::kInt8) == Status::kOutOfMemory);
  CHECK(packInto(packed, w, SIZE_MAX / 4, 1, WeightType::kFloat32) == Status::kOutOfMemory);
  CHECK(packInto(packed, w, 1, SIZE_MAX, WeightType::kFloat32) == Status::kOutOfMemory);
  CHECK(packInto(packed, w, 1, SIZE_MAX, WeightType::kInt8) == Status::kOutOfMemory);
  // Sizes that overflow when they are rounded up to whole panels.
  REQUIRE(packInto(packed, w, SIZE_MAX - 3, 1, WeightType::kFloat32) == Status::kOutOfMemory);
  CHECK(rowsOf(packed) == w);
}

TEST_CASE("A matrix can be packed again with another shape and type", "[kernels]") {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  PackedMatrix packed;
  REQUIRE(packInto(packed, w, 3, 4, WeightType::kInt8) == Status::kOk);
  REQUIRE(packInto(packed, w, 2, 6, WeightType::kBfloat16) == Status::kOk);
  CHECK(packed.type() == WeightType::kBfloat16);
  CHECK(packed.bytes() == 16 * 6 * 2);
  CHECK(rowsOf(packed) == w);
}

}  // namespace ropewalk::test
