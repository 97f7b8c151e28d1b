// Tables have the same bits in every build: scalar, SSE2 and wasm, relaxed SIMD or not, g++ and clang. The
// constants were computed once; a build that differs is wrong, or the definition of a table has changed,
// which affects every user.
#include <bit>
#include <cstdint>
#include <vector>

#include "catch.h"
#include "encodings/rope.h"
#include "encodings/sinusoidal.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// FNV-1a, 64 bits (Fowler, Noll and Vo), over the bits of floats, low byte first.
class Checksum {
 public:
  void add(const std::vector<float>& values) {
    for (const float v : values) {
      const auto bits = std::bit_cast<uint32_t>(v);
      for (int shift = 0; shift < 32; shift += 8) hash_ = (hash_ ^ ((bits >> shift) & 0xff)) * 0x100000001b3;
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

// 4000 positions: the first ones, then some of every size and both signs, and both ends.
std::vector<int64_t> positions() {
  Random random(20241120);
  std::vector<int64_t> p = {kMaxPosition, -kMaxPosition, -1};
  for (int64_t i = 0; i < 1000; ++i) p.push_back(i);
  while (p.size() < 4000) {
    const int64_t size = int64_t{1} << random.between(1, 53);
    p.push_back(random.between(1 - size, size - 1));
  }
  return p;
}

uint64_t ropeChecksum(Angles angles) {
  const std::vector<int64_t> p = positions();
  Checksum checksum;
  for (const size_t dim : std::initializer_list<size_t>{2, 64, 128}) {
    for (const double base : {1e4, 5e5}) {
      RopeOptions options;
      options.head_dim = dim;
      options.frequencies.dim = dim;
      options.frequencies.base = base;
      options.angles = angles;
      RopePlan plan;
      REQUIRE(plan.create(options) == Status::kOk);
      std::vector<float> cos(p.size() * dim / 2);
      std::vector<float> sin(p.size() * dim / 2);
      REQUIRE(plan.tables(p.data(), p.size(), cos.data(), sin.data()) == Status::kOk);
      checksum.add(cos);
      checksum.add(sin);
    }
  }
  return checksum.value();
}

uint64_t sinusoidalChecksum() {
  const std::vector<int64_t> p = positions();
  Checksum checksum;
  for (const auto layout :
       {SinusoidLayout::kInterleaved, SinusoidLayout::kConcatenated, SinusoidLayout::kTensor2Tensor}) {
    for (const size_t dim : std::initializer_list<size_t>{7, 64}) {
      const SinusoidalOptions options = {dim, 10000, layout, 1};
      std::vector<float> table(p.size() * dim);
      REQUIRE(sinusoidal(options, p.data(), p.size(), table.data()) == Status::kOk);
      checksum.add(table);
    }
  }
  return checksum.value();
}

}  // namespace

TEST_CASE("Exact rotary tables have the same bits in every build", "[golden]") {
  CHECK(ropeChecksum(Angles::kExact) == 0xe747df042f60fb99);
}

TEST_CASE("Rotary tables of float32 angles have the same bits in every build", "[golden]") {
  CHECK(ropeChecksum(Angles::kFloat32) == 0xdec4d93049c21738);
}

TEST_CASE("Sinusoidal tables have the same bits in every build", "[golden]") {
  CHECK(sinusoidalChecksum() == 0xb98791f499bae37e);
}

}  // namespace ropewalk::test
