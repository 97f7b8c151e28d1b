#include "kernels/rope.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

struct Row {
  std::vector<float> x;
  std::vector<float> cos;
  std::vector<float> sin;
};

Row randomRow(Random& random, size_t pairs) {
  Row row = {random.floats(2 * pairs), std::vector<float>(pairs), std::vector<float>(pairs)};
  for (size_t j = 0; j < pairs; ++j) {
    const double angle = random.uniform(-4, 4);
    row.cos[j] = static_cast<float>(std::cos(angle));
    row.sin[j] = static_cast<float>(std::sin(angle));
  }
  return row;
}

// Two products and a sum: three roundings, each relative to at most |a| + |b|.
template <class Pairs>
double errorShare(const std::vector<float>& out, const Row& row) {
  const size_t pairs = row.cos.size();
  Worst worst;
  for (size_t j = 0; j < pairs; ++j) {
    const size_t first = Pairs::first(j, pairs);
    const size_t second = Pairs::second(j, pairs);
    const double a = row.x[first];
    const double b = row.x[second];
    const double tolerance = 3 * kUnit * (std::fabs(a) + std::fabs(b));
    worst.add(out[first], a * row.cos[j] - b * row.sin[j], tolerance);
    worst.add(out[second], a * row.sin[j] + b * row.cos[j], tolerance);
  }
  return worst.share();
}

template <class Pairs>
void checkAllSizes() {
  Random random(1);
  for (const size_t pairs : kernelSizes()) {
    const Row row = randomRow(random, pairs);
    std::vector<float> out(2 * pairs, kNaN);
    rotatePairs<Pairs, Pairs>(out.data(), row.x.data(), row.cos.data(), row.sin.data(), pairs);
    INFO("pairs = " << pairs);
    CHECK(errorShare<Pairs>(out, row) <= 1);

    std::vector<float> in_place = row.x;
    rotatePairs<Pairs, Pairs>(in_place.data(), in_place.data(), row.cos.data(), row.sin.data(), pairs);
    CHECK(sameBits(in_place, out));
  }
}

// Rows of 2 * pairs numbers, with gaps between them that nobody writes.
template <class Pairs, size_t Rows>
void checkRows() {
  Random random(4);
  for (const size_t pairs : kernelSizes()) {
    const Row table = randomRow(random, pairs);
    const size_t stride = 2 * pairs + 3;
    std::vector<float> rows = random.floats(Rows * stride);
    std::vector<float> wanted = rows;
    for (size_t r = 0; r < Rows; ++r) {
      float* const row = wanted.data() + r * stride;
      rotatePairs<Pairs, Pairs>(row, row, table.cos.data(), table.sin.data(), pairs);
    }
    rotateRows<Pairs, Rows>(rows.data(), stride, table.cos.data(), table.sin.data(), pairs);
    INFO("pairs = " << pairs);
    CHECK(sameBits(rows, wanted));
  }
}

}  // namespace

TEST_CASE("Rows that share a table turn as each of them alone, to the bit", "[kernels]") {
  checkRows<HalfPairs, 4>();
  checkRows<InterleavedPairs, 4>();
  checkRows<HalfPairs, 1>();
  checkRows<InterleavedPairs, 1>();
}

TEST_CASE("Heads are taken four at a time, and the rest one by one", "[kernels]") {
  for (size_t heads = 0; heads < 12; ++heads) {
    std::vector<size_t> sizes;
    size_t next = 0;
    forHeads(heads, [&](size_t h, auto count) {
      CHECK(h == next);
      next += count;
      sizes.push_back(count);
    });
    CHECK(next == heads);
    CHECK(sizes.size() == heads / 4 + heads % 4);
  }
}

TEST_CASE("Interleaved pairs turn as the formula says, in place and apart", "[kernels]") {
  checkAllSizes<InterleavedPairs>();
}

TEST_CASE("Half pairs turn as the formula says, in place and apart", "[kernels]") {
  checkAllSizes<HalfPairs>();
}

TEST_CASE("Both pairings give the same bits for the same pairs", "[kernels]") {
  Random random(2);
  for (const size_t pairs : kernelSizes()) {
    const Row row = randomRow(random, pairs);
    std::vector<float> interleaved(2 * pairs);
    for (size_t j = 0; j < pairs; ++j) {
      interleaved[2 * j] = row.x[j];
      interleaved[2 * j + 1] = row.x[pairs + j];
    }
    std::vector<float> half = row.x;
    rotatePairs<HalfPairs, HalfPairs>(half.data(), half.data(), row.cos.data(), row.sin.data(), pairs);
    rotatePairs<InterleavedPairs, InterleavedPairs>(interleaved.data(), interleaved.data(), row.cos.data(),
                                                    row.sin.data(), pairs);
    int misses = 0;
    for (size_t j = 0; j < pairs; ++j) {
      misses += !sameBits(&interleaved[2 * j], &half[j], 1) ||
                !sameBits(&interleaved[2 * j + 1], &half[pairs + j], 1);
    }
    INFO("pairs = " << pairs);
    CHECK(misses == 0);
  }
}

TEST_CASE("Pairs can be read in one pairing and written in the other", "[kernels]") {
  Random random(3);
  for (const size_t pairs : kernelSizes()) {
    const Row row = randomRow(random, pairs);
    std::vector<float> same = row.x;
    std::vector<float> changed(2 * pairs, kNaN);
    rotatePairs<HalfPairs, HalfPairs>(same.data(), row.x.data(), row.cos.data(), row.sin.data(), pairs);
    rotatePairs<HalfPairs, InterleavedPairs>(changed.data(), row.x.data(), row.cos.data(), row.sin.data(),
                                             pairs);
    std::vector<float> back(2 * pairs, kNaN);
    const std::vector<float> ones(pairs, 1.0f);
    const std::vector<float> zeros(pairs, 0.0f);
    rotatePairs<InterleavedPairs, HalfPairs>(back.data(), changed.data(), ones.data(), zeros.data(), pairs);
    INFO("pairs = " << pairs);
    CHECK(back == same);
  }
}

}  // namespace ropewalk::test
