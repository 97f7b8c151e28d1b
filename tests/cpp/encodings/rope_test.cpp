#include "encodings/rope.h"

#include <cmath>
#include <limits>
#include <vector>

#include "angles/exact_sine.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr Pairing kPairings[] = {Pairing::kInterleaved, Pairing::kHalf};

struct Shape {
  size_t batch;
  size_t heads;
  size_t tokens;
};

template <class T>
HeadView<T> viewOf(bool heads_first, T* x, const Shape& s, size_t dim) {
  return heads_first ? headsFirst(x, s.batch, s.heads, s.tokens, dim)
                     : tokensFirst(x, s.batch, s.heads, s.tokens, dim);
}

// Every head of `after` against `before` turned by the formula: w from the options' base, angles without
// error, the rest in double. cos and sin are half an ulp off, and two products and a sum round: under 3
// roundings of |a| + |b|.
double errorShare(const RopeOptions& options, HeadView<const float> before, HeadView<const float> after,
                  const Positions& positions) {
  const size_t pairs = options.frequencies.dim / 2;
  Worst worst;
  for (size_t b = 0; b < before.batch; ++b) {
    for (size_t t = 0; t < before.tokens; ++t) {
      const auto position = static_cast<double>(positionOf(positions, b, t, before.batch, before.tokens));
      for (size_t j = 0; j < pairs; ++j) {
        const Real exponent = static_cast<double>(2 * j) / Real(static_cast<double>(options.frequencies.dim));
        const ExactSinCos angle = exactSinCos(position * pow(options.frequencies.base, -exponent));
        const double cos = angle.cos.toDouble();
        const double sin = angle.sin.toDouble();
        for (size_t h = 0; h < before.heads; ++h) {
          const float* in = before.row(b, h, t);
          const float* out = after.row(b, h, t);
          const size_t first = firstOf(options.pairing, j);
          const size_t second = secondOf(options.pairing, j, pairs);
          const double tolerance = 3 * kUnit * (std::fabs(in[first]) + std::fabs(in[second]));
          worst.add(out[first], in[first] * cos - in[second] * sin, tolerance);
          worst.add(out[second], in[first] * sin + in[second] * cos, tolerance);
        }
      }
      for (size_t h = 0; h < before.heads; ++h) {
        const size_t rest = before.dim - 2 * pairs;
        if (!sameBits(before.row(b, h, t) + 2 * pairs, after.row(b, h, t) + 2 * pairs, rest))
          worst.add(1, 0, 0);
      }
    }
  }
  return worst.share();
}

void rotate(RopePlan& plan, std::vector<float>& row, int64_t position, Turn turn = Turn::kForward) {
  Positions at;
  at.offset = position;
  REQUIRE(plan.rotate(headsFirst(row.data(), 1, 1, 1, row.size()), at, turn) == Status::kOk);
}

double dotInDouble(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

TEST_CASE("rotate turns every pair by position times frequency and leaves the rest alone", "[encodings]") {
  Random random(1);
  const Shape shape = {2, 3, 5};
  const std::vector<int64_t> shared = {0, 1, -7, 123456789012, kMaxPosition};
  const std::vector<int64_t> per_batch = {3, 3, 2, -kMaxPosition, 0, 16777217, 0, 5, 4, 1000};
  const Positions kinds[] = {{nullptr, false, 0},
                             {nullptr, false, 1000000},
                             {nullptr, false, -2},
                             {shared.data(), false, 0},
                             {per_batch.data(), true, 0}};
  for (const auto& [head_dim, rotary_dim] :
       {std::pair<size_t, size_t>{2, 2}, {10, 6}, {34, 34}, {20, 8}, {7, 4}}) {
    for (const Pairing pairing : kPairings) {
      const RopeOptions options = ropeOptions(head_dim, rotary_dim, pairing);
      RopePlan plan = planOf(options);
      for (const Positions& positions : kinds) {
        for (const bool heads_first : {true, false}) {
          const std::vector<float> before = random.floats(30 * head_dim);
          std::vector<float> after = before;
          REQUIRE(plan.rotate(viewOf(heads_first, after.data(), shape, head_dim), positions) == Status::kOk);
          INFO("head_dim = " << head_dim << ", rotary_dim = " << rotary_dim);
          CHECK(errorShare(options, viewOf(heads_first, before.data(), shape, head_dim),
                           viewOf<const float>(heads_first, after.data(), shape, head_dim), positions) <= 1);
        }
      }
    }
  }
}

TEST_CASE("Turning back undoes turning", "[encodings]") {
  Random random(2);
  for (const Pairing pairing : kPairings) {
    RopeOptions options = ropeOptions(24, 20, pairing);
    options.frequencies.scaling = Scaling::kYarn;
    options.frequencies.factor = 16;
    options.frequencies.original_length = 4096;
    RopePlan plan = planOf(options);
    CHECK(plan.attentionFactor() > 1.2);
    for (const int64_t position : {int64_t{0}, int64_t{5}, int64_t{-77}, int64_t{1} << 40, kMaxPosition}) {
      const std::vector<float> before = random.floats(24);
      std::vector<float> after = before;
      rotate(plan, after, position);
      rotate(plan, after, position, Turn::kBack);
      Worst worst;
      for (size_t i = 0; i < 24; ++i)
        worst.add(after[i], before[i], 6 * kUnit * 2);  // two rotations of |a| + |b| <= 2
      INFO("position = " << position);
      CHECK(worst.share() <= 1);
      CHECK(sameBits(after.data() + 20, before.data() + 20, 4));
    }
  }
}

TEST_CASE("Turning keeps the norm, times the attention factor once", "[encodings]") {
  Random random(3);
  for (const double attention_factor : {1.0, 1.5}) {
    RopeOptions options = ropeOptions(64, 64);
    options.frequencies.scaling = Scaling::kYarn;
    options.frequencies.original_length = 4096;
    options.frequencies.attention_factor = attention_factor;
    RopePlan plan = planOf(options);
    for (const int64_t position : {int64_t{1}, int64_t{4095}, -kMaxPosition}) {
      std::vector<float> row = random.floats(64);
      const double before = std::sqrt(dotInDouble(row, row));
      rotate(plan, row, position);
      const double after = std::sqrt(dotInDouble(row, row));
      CHECK(std::fabs(after / before - attention_factor) <= 4 * kUnit * attention_factor);
      rotate(plan, row, position, Turn::kBack);
      CHECK(std::fabs(std::sqrt(dotInDouble(row, row)) / before - 1) <= 8 * kUnit);
    }
  }
}

TEST_CASE("The score of a rotated query and key depends on the difference of their positions only",
          "[encodings]") {
  Random random(4);
  for (const Pairing pairing : kPairings) {
    RopePlan plan = planOf(ropeOptions(64, 64, pairing));
    const std::vector<float> q = random.floats(64);
    const std::vector<float> k = random.floats(64);
    const double norms = std::sqrt(dotInDouble(q, q) * dotInDouble(k, k));
    const auto score = [&](int64_t m, int64_t n) {
      std::vector<float> rotated_q = q;
      std::vector<float> rotated_k = k;
      rotate(plan, rotated_q, m);
      rotate(plan, rotated_k, n);
      return dotInDouble(rotated_q, rotated_k);
    };
    for (const int64_t difference : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{100}, int64_t{123457}}) {
      const double expected = score(difference, 0);
      for (const int64_t n : {int64_t{1}, int64_t{-500}, (int64_t{1} << 24) + 1, int64_t{1} << 31,
                              int64_t{1} << 40, kMaxPosition - 123457, -kMaxPosition + 1}) {
        INFO("difference = " << difference << ", n = " << n);
        CHECK(std::fabs(score(n + difference, n) - expected) <= 1e-6 * norms);
      }
    }
    CHECK(std::fabs(score(0, 0) - dotInDouble(q, k)) <= 1e-6 * norms);
  }
}

TEST_CASE("Half pairs are interleaved pairs in another order, bit for bit", "[encodings]") {
  Random random(5);
  for (const size_t dim : std::initializer_list<size_t>{2, 8, 10, 64, 126}) {
    RopePlan half = planOf(ropeOptions(dim + 2, dim, Pairing::kHalf));
    RopePlan interleaved = planOf(ropeOptions(dim + 2, dim, Pairing::kInterleaved));
    const std::vector<float> x = random.floats(dim + 2);
    std::vector<float> a = x;
    std::vector<float> b = x;
    for (size_t j = 0; j < dim / 2; ++j) {
      b[2 * j] = x[j];
      b[2 * j + 1] = x[dim / 2 + j];
    }
    for (const int64_t position : {int64_t{3}, int64_t{-1000}, kMaxPosition}) {
      rotate(half, a, position);
      rotate(interleaved, b, position);
      std::vector<float> reordered = b;
      for (size_t j = 0; j < dim / 2; ++j) {
        reordered[j] = b[2 * j];
        reordered[dim / 2 + j] = b[2 * j + 1];
      }
      INFO("dim = " << dim << ", position = " << position);
      CHECK(sameBits(a, reordered));
    }
  }
}

TEST_CASE("float32 angles are Hugging Face's: float frequency times float position", "[encodings]") {
  RopeOptions options = ropeOptions(64, 64);
  options.angles = Angles::kFloat32;
  const RopePlan plan = planOf(options);
  const std::vector<int64_t> positions = {0, 1, 511, 4095, 131071, 1048575, 16777217, -4095};
  const Tables tables = tablesOf(plan, positions);
  Worst worst;
  for (size_t r = 0; r < positions.size(); ++r) {
    for (size_t j = 0; j < 32; ++j) {
      const double exponent = static_cast<float>(2 * j) / 64.0f;
      const float w = 1.0f / static_cast<float>(std::pow(10000.0, exponent));
      const double angle = static_cast<float>(positions[r]) * w;
      worst.add(tables.cos[r * 32 + j], std::cos(angle), 2.99e-8);
      worst.add(tables.sin[r * 32 + j], std::sin(angle), 2.99e-8);
    }
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("Queries and keys turn together as each alone, with any numbers of heads", "[encodings]") {
  constexpr size_t kDim = 10;
  for (const double scale_base : {0.0, 512.0}) {
    for (const size_t tokens : std::initializer_list<size_t>{0, 1, 5, 300}) {
      RopeOptions options = ropeOptions(kDim, 8);
      options.xpos.scale_base = scale_base;
      RopePlan plan = planOf(options);
      RopePlan alone = planOf(options);
      Random random(tokens + 1);
      std::vector<float> q = random.floats(2 * 6 * tokens * kDim);
      std::vector<float> k = random.floats(2 * 2 * tokens * kDim);
      std::vector<float> q_expected = q;
      std::vector<float> k_expected = k;
      const Positions at = {nullptr, false, 3000};
      REQUIRE(alone.rotate(headsFirst(q_expected.data(), 2, 6, tokens, kDim), at, Turn::kForward,
                           Role::kQuery) == Status::kOk);
      REQUIRE(alone.rotate(tokensFirst(k_expected.data(), 2, 2, tokens, kDim), at, Turn::kForward,
                           Role::kKey) == Status::kOk);
      REQUIRE(plan.rotateBoth(headsFirst(q.data(), 2, 6, tokens, kDim),
                              tokensFirst(k.data(), 2, 2, tokens, kDim), at) == Status::kOk);
      INFO("scale_base = " << scale_base << ", tokens = " << tokens);
      CHECK(sameBits(q, q_expected));
      CHECK(sameBits(k, k_expected));
    }
  }
}

TEST_CASE("Queries and keys that cannot turn together stay as they were", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(4, 4));
  std::vector<float> q(24, 1.0f);
  std::vector<float> k(24, 1.0f);
  const auto both = [&](HeadView<float> queries, HeadView<float> keys, int64_t offset) {
    return plan.rotateBoth(queries, keys, {nullptr, false, offset});
  };
  const HeadView<float> fine = headsFirst(k.data(), 1, 2, 3, 4);
  CHECK(both(headsFirst(q.data(), 1, 3, 2, 4), fine, 5) == Status::kInvalidShape);  // tokens
  CHECK(both(headsFirst(q.data(), 2, 1, 3, 4), fine, 5) == Status::kInvalidShape);  // batch
  CHECK(both(headsFirst(q.data(), 1, 1, 3, 8), fine, 5) == Status::kInvalidShape);  // head_dim
  CHECK(both(fine, headsFirst(q.data(), 1, 1, 3, 8), 5) == Status::kInvalidShape);
  CHECK(both(headsFirst(q.data(), 1, 2, 3, 4), fine, kMaxPosition) == Status::kPositionOutOfRange);
  CHECK(sameBits(q, std::vector<float>(24, 1.0f)));
  CHECK(sameBits(k, std::vector<float>(24, 1.0f)));
}

TEST_CASE("A plan says what it is made of", "[encodings]") {
  const RopePlan plan = planOf(ropeOptions(12, 8));
  CHECK(plan.headDim() == 12);
  CHECK(plan.pairs() == 4);
  CHECK(plan.attentionFactor() == 1);
  CHECK(plan.frequencies()[0] == 1);
  CHECK(plan.frequencies()[1] == 0.1);
  CHECK(plan.frequencies()[2] == 0.01);
}

TEST_CASE("A plan that cannot be made leaves the old one in place", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(8, 4));
  const auto refused = [&](size_t head_dim, size_t rotary_dim) {
    return plan.create(ropeOptions(head_dim, rotary_dim));
  };
  CHECK(refused(0, 0) == Status::kInvalidShape);
  CHECK(refused(8, 0) == Status::kInvalidShape);
  CHECK(refused(8, 3) == Status::kInvalidShape);
  CHECK(refused(8, 10) == Status::kInvalidShape);
  CHECK(refused(SIZE_MAX - 1, SIZE_MAX - 1) == Status::kOutOfMemory);
  RopeOptions bad_base = ropeOptions(8, 8);
  bad_base.frequencies.base = 0;
  CHECK(plan.create(bad_base) == Status::kInvalidArgument);
  CHECK(plan.headDim() == 8);
  CHECK(plan.pairs() == 2);
  std::vector<float> row = {1, 1, 0, 0, 5, 6, 7, 8};
  rotate(plan, row, 1);
  CHECK(std::fabs(row[0] - std::cos(1.0)) <= 3e-8);
}

}  // namespace ropewalk::test
