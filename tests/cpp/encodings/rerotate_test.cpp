// Rotated keys moved to other positions, another scaling or another pairing in one step.
#include <cmath>
#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kTokens = 9;

HeadView<float> viewOf(std::vector<float>& x, size_t dim) {
  return tokensFirst(x.data(), 1, x.size() / dim / kTokens, kTokens, dim);
}

std::vector<float> turned(RopePlan& plan, const std::vector<float>& x, const Positions& at) {
  std::vector<float> out = x;
  REQUIRE(plan.rotate(viewOf(out, plan.headDim()), at, Turn::kForward, Role::kKey) == Status::kOk);
  return out;
}

// The coordinates of every head in the order of the other pairing.
std::vector<float> repaired(const std::vector<float>& x, size_t dim, size_t rotary_dim, Pairing from,
                            Pairing to) {
  std::vector<float> out = x;
  const size_t pairs = rotary_dim / 2;
  for (size_t row = 0; row < x.size(); row += dim) {
    for (size_t j = 0; j < pairs; ++j) {
      out[row + firstOf(to, j)] = x[row + firstOf(from, j)];
      out[row + secondOf(to, j, pairs)] = x[row + secondOf(from, j, pairs)];
    }
  }
  return out;
}

// Each of the two ways rounds three times relative to |a| + |b| <= 2, times the magnitudes on the way.
constexpr double kTolerance = 3 * 3 * kUnit * 2;

}  // namespace

TEST_CASE("Re-rotated keys are keys of the other plan at the other positions", "[encodings]") {
  Random random(1);
  RopeOptions yarn = ropeOptions(20, 16);
  yarn.frequencies.scaling = Scaling::kYarn;
  yarn.frequencies.factor = 4;
  yarn.frequencies.original_length = 64;
  RopeOptions other_base = ropeOptions(20, 16);
  other_base.frequencies.base = 5e5;
  RopeOptions float32 = ropeOptions(20, 16);
  float32.angles = Angles::kFloat32;
  const RopeOptions all[] = {ropeOptions(20, 16), yarn, other_base, float32};
  const std::vector<int64_t> scattered = {7, 7, -3, 100000, 0, 1, 2, 65, 3};
  const Positions places[] = {{nullptr, false, 0}, {nullptr, false, -40}, {scattered.data(), false, 0}};
  for (const RopeOptions& from_options : all) {
    for (RopeOptions to_options : all) {
      for (const Pairing pairing : {Pairing::kHalf, Pairing::kInterleaved}) {
        to_options.pairing = pairing;
        RopePlan from = planOf(from_options);
        RopePlan to = planOf(to_options);
        for (const Positions& old_place : places) {
          for (const Positions& new_place : places) {
            const std::vector<float> x = random.floats(2 * kTokens * 20);
            std::vector<float> moved = turned(from, x, old_place);
            REQUIRE(from.rerotate(viewOf(moved, 20), old_place, to, new_place) == Status::kOk);
            const std::vector<float> expected =
                turned(to, repaired(x, 20, 16, from_options.pairing, pairing), new_place);
            CHECK(largestDifference(moved, expected) <= kTolerance);
          }
        }
      }
    }
  }
}

TEST_CASE("Re-rotating to the same place changes nothing", "[encodings]") {
  Random random(2);
  RopePlan plan = planOf(ropeOptions(12, 8));
  std::vector<float> x = random.floats(kTokens * 12);
  const std::vector<float> before = x;
  const Positions at = {nullptr, false, kMaxPosition - 8};
  REQUIRE(plan.rerotate(viewOf(x, 12), at, plan, at) == Status::kOk);
  CHECK(x == before);
}

TEST_CASE("A shift over the whole range is exact", "[encodings]") {
  Random random(3);
  RopePlan plan = planOf(ropeOptions(64, 64));
  const std::vector<float> x = random.floats(kTokens * 64);
  const Positions first = {nullptr, false, -kMaxPosition};
  const Positions last = {nullptr, false, kMaxPosition - 8};
  std::vector<float> moved = turned(plan, x, first);
  REQUIRE(plan.rerotate(viewOf(moved, 64), first, plan, last) == Status::kOk);
  CHECK(largestDifference(moved, turned(plan, x, last)) <= kTolerance);
}

TEST_CASE("xPos keys move with their magnitude", "[encodings]") {
  Random random(4);
  RopeOptions options = ropeOptions(8, 8);
  options.xpos = {512, 0};
  RopePlan plan = planOf(options);
  const std::vector<float> x = random.floats(kTokens * 8);
  const Positions from = {nullptr, false, 300};
  const Positions to = {nullptr, false, 0};
  std::vector<float> moved = turned(plan, x, from);
  REQUIRE(plan.rerotate(viewOf(moved, 8), from, plan, to) == Status::kOk);
  CHECK(largestDifference(moved, turned(plan, x, to)) <= kTolerance);
}

TEST_CASE("Keys on several axes move along each of them", "[encodings]") {
  Random random(5);
  RopeOptions options = ropeOptions(14, 12);
  options.axes = {AxisLayout::kAxial, 2, {4, 8}};
  RopePlan plan = planOf(options);
  std::vector<int64_t> from(2 * kTokens);
  std::vector<int64_t> to(2 * kTokens);
  for (int64_t& p : from) p = random.between(-50, 50);
  for (int64_t& p : to) p = random.between(-50, 50);
  const std::vector<float> x = random.floats(kTokens * 14);
  std::vector<float> moved = turned(plan, x, {from.data(), false, 0});
  REQUIRE(plan.rerotate(viewOf(moved, 14), {from.data(), false, 0}, plan, {to.data(), false, 0}) ==
          Status::kOk);
  CHECK(largestDifference(moved, turned(plan, x, {to.data(), false, 0})) <= kTolerance);
}

TEST_CASE("Plans that do not fit each other leave the keys as they were", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(8, 8));
  std::vector<float> x(kTokens * 8, 1.0f);
  const Positions zero;
  const auto statusOf = [&](const RopePlan& target) {
    return plan.rerotate(viewOf(x, 8), zero, target, zero);
  };
  CHECK(statusOf(planOf(ropeOptions(10, 8))) == Status::kInvalidShape);
  CHECK(statusOf(planOf(ropeOptions(8, 6))) == Status::kInvalidShape);
  RopeOptions axial = ropeOptions(8, 8);
  axial.axes = {AxisLayout::kAxial, 2, {4, 4}};
  CHECK(statusOf(planOf(axial)) == Status::kInvalidShape);
  RopeOptions xpos = ropeOptions(8, 8);
  xpos.xpos = {512, 0};
  CHECK(statusOf(planOf(xpos)) == Status::kInvalidArgument);
  CHECK(plan.rerotate(headsFirst(x.data(), 1, 1, 2, 6), zero, plan, zero) == Status::kInvalidShape);
  const Positions beyond = {nullptr, false, kMaxPosition};
  CHECK(plan.rerotate(viewOf(x, 8), beyond, plan, zero) == Status::kPositionOutOfRange);
  CHECK(plan.rerotate(viewOf(x, 8), zero, plan, beyond) == Status::kPositionOutOfRange);
  CHECK(plan.rerotate(headsFirst(x.data(), 1, 1, 0, 8), beyond, plan, zero) == Status::kOk);
  CHECK(x == std::vector<float>(kTokens * 8, 1.0f));
}

}  // namespace ropewalk::test
