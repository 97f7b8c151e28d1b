// Plans with more than one axis of position, and xPos.
#include <cmath>
#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// Turns x [tokens, D] as `role`.
Status rotate(RopePlan& plan, std::vector<float>& x, const Positions& positions, Turn turn = Turn::kForward,
              Role role = Role::kAny) {
  const size_t dim = plan.headDim();
  return plan.rotate(headsFirst(x.data(), 1, 1, x.size() / dim, dim), positions, turn, role);
}

double dotInDouble(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

struct Case {
  size_t dim;
  AxisOptions axes;
  std::vector<PairRun> runs;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {16, {AxisLayout::kAxial, 3, {4, 6, 6}}, {{0, 0, 2}, {4, 2, 3}, {10, 5, 3}}},
      {20, {AxisLayout::kSections, 3, {2, 4, 4}}, {{0, 0, 10}}},
      {12, {AxisLayout::kInterleaved, 3, {2, 2, 2}}, {{0, 0, 6}}},
      {24, {AxisLayout::kVision, 2, {}}, {{0, 0, 12}}},
      {24, {AxisLayout::kPixtral, 2, {}}, {{0, 0, 12}}},
  };
  return all;
}

RopeOptions optionsOf(const Case& c, Pairing pairing) {
  RopeOptions options = ropeOptions(c.dim + 2, c.dim, pairing);
  options.axes = c.axes;
  return options;
}

}  // namespace

TEST_CASE("Every pair is turned by the position on its own axis", "[encodings]") {
  constexpr size_t kTokens = 40;
  Random random(1);
  for (const Case& c : cases()) {
    for (const Pairing pairing : {Pairing::kInterleaved, Pairing::kHalf}) {
      const RopeOptions options = optionsOf(c, pairing);
      RopePlan plan = planOf(options);
      RopeLayout layout;
      REQUIRE(layOutRope(options.frequencies, c.axes, options.angles, &layout) == Status::kOk);
      std::vector<int64_t> values(c.axes.axes * kTokens);
      for (int64_t& p : values) p = random.between(-1000, 1000);
      const Positions positions = {values.data(), false, 0};
      const std::vector<float> before = random.floats(kTokens * plan.headDim());
      std::vector<float> after = before;
      REQUIRE(rotate(plan, after, positions) == Status::kOk);
      Worst worst;
      for (size_t t = 0; t < kTokens; ++t) {
        const float* in = before.data() + t * plan.headDim();
        const float* out = after.data() + t * plan.headDim();
        for (const PairRun& run : c.runs) {
          for (size_t r = 0; r < run.pairs; ++r) {
            const size_t pair = run.first_pair + r;
            const auto position =
                static_cast<double>(positionOf(positions, 0, t, 1, kTokens, layout.axis[pair]));
            const double angle = position * plan.frequencies()[pair];  // off by 2^10 2^-53
            const size_t first = run.start + firstOf(pairing, r);
            const size_t second = run.start + secondOf(pairing, r, run.pairs);
            const double tolerance = 3 * kUnit * (std::fabs(in[first]) + std::fabs(in[second]));
            worst.add(out[first], in[first] * std::cos(angle) - in[second] * std::sin(angle), tolerance);
            worst.add(out[second], in[first] * std::sin(angle) + in[second] * std::cos(angle), tolerance);
          }
        }
        CHECK(sameBits(in + c.dim, out + c.dim, 2));
      }
      INFO("layout " << static_cast<int>(c.axes.layout));
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("An offset means the same position on every axis, cached or not", "[encodings]") {
  Random random(2);
  for (const Case& c : cases()) {
    RopePlan plan = planOf(optionsOf(c, Pairing::kHalf));
    std::vector<int64_t> values;
    for (size_t a = 0; a < c.axes.axes; ++a) {
      for (int64_t t = 0; t < 5; ++t) values.push_back(t);
    }
    const std::vector<float> x = random.floats(5 * plan.headDim());
    std::vector<float> by_values = x;
    std::vector<float> by_offset = x;
    std::vector<float> cached = x;
    REQUIRE(rotate(plan, by_values, {values.data(), false, 0}) == Status::kOk);
    REQUIRE(rotate(plan, by_offset, {}) == Status::kOk);
    REQUIRE(rotate(plan, cached, {values.data(), false, 0}) == Status::kOk);
    CHECK(sameBits(by_values, by_offset));
    CHECK(sameBits(by_values, cached));
    ++values.back();  // the last axis alone differs: not a row of the cache
    REQUIRE(rotate(plan, cached = x, {values.data(), false, 0}) == Status::kOk);
    CHECK(!sameBits(by_values, cached));
  }
}

TEST_CASE("Positions on several axes are [axes][batch][tokens]", "[encodings]") {
  Random random(3);
  const Case& c = cases()[0];
  RopePlan plan = planOf(optionsOf(c, Pairing::kHalf));
  const size_t dim = plan.headDim();
  std::vector<int64_t> values(3 * 2 * 4);
  for (int64_t& p : values) p = random.between(0, 99);
  const std::vector<float> x = random.floats(2 * 4 * dim);
  std::vector<float> whole = x;
  REQUIRE(plan.rotate(headsFirst(whole.data(), 2, 1, 4, dim), {values.data(), true, 0}) == Status::kOk);
  for (size_t b = 0; b < 2; ++b) {
    for (size_t t = 0; t < 4; ++t) {
      const std::vector<int64_t> one = {values[b * 4 + t], values[8 + b * 4 + t], values[16 + b * 4 + t]};
      const auto first = x.begin() + static_cast<ptrdiff_t>((b * 4 + t) * dim);
      std::vector<float> row(first, first + static_cast<ptrdiff_t>(dim));
      REQUIRE(rotate(plan, row, {one.data(), false, 0}) == Status::kOk);
      CHECK(sameBits(row.data(), whole.data() + (b * 4 + t) * dim, dim));
    }
  }
}

TEST_CASE("A position out of range on any axis is refused", "[encodings]") {
  RopePlan plan = planOf(optionsOf(cases()[1], Pairing::kHalf));
  std::vector<float> x(plan.headDim(), 1.0f);
  for (size_t a = 0; a < 3; ++a) {
    std::vector<int64_t> values = {1, 2, 3};
    values[a] = kMaxPosition + 1;
    CHECK(rotate(plan, x, {values.data(), false, 0}) == Status::kPositionOutOfRange);
  }
  CHECK(x == std::vector<float>(plan.headDim(), 1.0f));
}

TEST_CASE("xPos grows queries and shrinks keys by zeta to the distance from its centre", "[encodings]") {
  RopeOptions options = ropeOptions(8, 8, Pairing::kInterleaved);
  options.xpos = {512, 100};
  RopePlan plan = planOf(options);
  RopePlan turned = planOf(ropeOptions(8, 8, Pairing::kInterleaved));
  Random random(4);
  for (const int64_t position : {0, 100, 612, -1000}) {
    const std::vector<float> x = random.floats(8);
    std::vector<float> plain = x;
    std::vector<float> query = x;
    std::vector<float> key = x;
    const Positions at = {nullptr, false, position};
    REQUIRE(rotate(turned, plain, at) == Status::kOk);
    REQUIRE(rotate(plan, query, at, Turn::kForward, Role::kQuery) == Status::kOk);
    REQUIRE(rotate(plan, key, at, Turn::kForward, Role::kKey) == Status::kOk);
    Worst worst;
    for (size_t i = 0; i < 8; ++i) {
      const double zeta = (2.0 * static_cast<double>(i / 2) + 0.4 * 8) / (1.4 * 8);
      const double scale = std::pow(zeta, static_cast<double>(position - 100) / 512);
      const double size = std::fabs(plain[i & ~size_t{1}]) + std::fabs(plain[i | 1]);
      worst.add(query[i], plain[i] * scale, 6 * kUnit * size * scale);
      worst.add(key[i], plain[i] / scale, 6 * kUnit * size / scale);
    }
    CHECK(worst.share() <= 1);

    REQUIRE(rotate(plan, query, at, Turn::kBack, Role::kQuery) == Status::kOk);
    REQUIRE(rotate(plan, key, at, Turn::kBack, Role::kKey) == Status::kOk);
    Worst back;
    for (size_t i = 0; i < 8; ++i) {
      back.add(query[i], x[i], 12 * kUnit);
      back.add(key[i], x[i], 12 * kUnit);
    }
    CHECK(back.share() <= 1);
  }
}

TEST_CASE("xPos scores depend on the difference of positions only", "[encodings]") {
  RopeOptions options = ropeOptions(32, 32);
  options.xpos = {512, 0};
  RopePlan plan = planOf(options);
  Random random(5);
  const std::vector<float> q = random.floats(32);
  const std::vector<float> k = random.floats(32);
  const auto score = [&](int64_t m, int64_t n) {
    std::vector<float> a = q;
    std::vector<float> b = k;
    REQUIRE(rotate(plan, a, {nullptr, false, m}, Turn::kForward, Role::kQuery) == Status::kOk);
    REQUIRE(rotate(plan, b, {nullptr, false, n}, Turn::kForward, Role::kKey) == Status::kOk);
    return dotInDouble(a, b);
  };
  const double norms = std::sqrt(dotInDouble(q, q) * dotInDouble(k, k));
  for (const int64_t n : {1, 50, 300, -300}) CHECK(std::fabs(score(n + 7, n) - score(7, 0)) <= 1e-5 * norms);
}

TEST_CASE("An xPos plan has to be told the role", "[encodings]") {
  RopeOptions options = ropeOptions(4, 4);
  options.xpos = {512, 0};
  RopePlan plan = planOf(options);
  std::vector<float> x = {1, 2, 3, 4};
  CHECK(rotate(plan, x, {}) == Status::kInvalidArgument);
  CHECK(x == std::vector<float>{1, 2, 3, 4});
  for (const XPosOptions wrong : {XPosOptions{-1, 0}, XPosOptions{NAN, 0}, XPosOptions{INFINITY, 0},
                                  XPosOptions{512, NAN}, XPosOptions{512, INFINITY}}) {
    options.xpos = wrong;
    CHECK(plan.create(options) == Status::kInvalidArgument);
  }
}

}  // namespace ropewalk::test
