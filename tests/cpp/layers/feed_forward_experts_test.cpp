#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "catch.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kModel = 7;
constexpr size_t kExperts = 5;

struct ExpertsData {
  std::vector<BlockData> experts;  // their feed-forward parts
  MatrixData router;

  explicit ExpertsData(Random& random) : router(random, kExperts, kModel, false) {
    BlockShape shape;
    shape.model = kModel;
    shape.hidden = 11;
    for (size_t e = 0; e < kExperts; ++e) experts.emplace_back(random, shape, 1, 1);
  }

  // The first expert with the router, the others behind it.
  FeedForwardParts parts(size_t count = kExperts) const {
    std::unique_ptr<FeedForward> next;
    for (size_t e = count; e-- > 1;) {
      FeedForwardParts own = experts[e].feedForwardParts();
      own.next = std::move(next);
      next = std::make_unique<FeedForward>();
      REQUIRE(next->create({Activation::kSilu}, std::move(own)) == Status::kOk);
    }
    FeedForwardParts made = experts[0].feedForwardParts();
    made.router = router.linear(WeightType::kFloat32);
    made.next = std::move(next);
    return made;
  }

  Matrix expected(const std::vector<float>& x, const FeedForwardOptions& options) const {
    Matrix out;
    for (size_t start = 0; start < x.size(); start += kModel) {
      const Matrix row(x.begin() + static_cast<ptrdiff_t>(start),
                       x.begin() + static_cast<ptrdiff_t>(start + kModel));
      Matrix weights = naiveLinear(row, router);
      double total = 0;
      for (double& w : weights) total += w = std::exp(w);
      for (double& w : weights) w /= total;
      Matrix sorted = weights;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      double chosen = 0;
      for (size_t k = 0; k < options.chosen; ++k) chosen += sorted[k];
      Matrix sum(kModel);
      for (size_t e = 0; e < kExperts; ++e) {
        if (weights[e] < sorted[options.chosen - 1]) continue;
        const Matrix made = naiveFeedForward(row, experts[e]);
        const double w = options.normalize ? weights[e] / chosen : weights[e];
        for (size_t i = 0; i < kModel; ++i) sum[i] += w * made[i];
      }
      out.insert(out.end(), sum.begin(), sum.end());
    }
    return out;
  }
};

}  // namespace

TEST_CASE("Experts are their formula in double, for each number that a row takes", "[layers]") {
  Random random(1);
  const ExpertsData data(random);
  for (size_t chosen = 1; chosen <= kExperts; ++chosen) {
    for (const bool normalize : {false, true}) {
      const FeedForwardOptions options = {Activation::kSilu, chosen, normalize};
      FeedForward layer;
      REQUIRE(layer.create(options, data.parts()) == Status::kOk);
      for (const size_t rows : {size_t{0}, size_t{1}, size_t{2}, size_t{61}}) {
        const std::vector<float> x = random.floats(rows * kModel);
        CHECK(errorShare(outOf(layer, x), data.expected(x, options), data.experts[0].tolerance()) <= 1);
      }
    }
  }
}

TEST_CASE("A sigmoid of the router multiplies what experts read, and a shared one reads every row",
          "[layers]") {
  Random random(5);
  ExpertsData data(random);
  BlockShape shape;
  shape.model = kModel;
  shape.hidden = 11;
  data.experts.emplace_back(random, shape, 1, 1);
  for (const auto& [shared, normalize] : {std::pair(false, false), {true, false}, {true, true}}) {
    for (size_t chosen = 1; chosen <= kExperts; ++chosen) {
      FeedForward layer;
      REQUIRE(layer.create({Activation::kSilu, chosen, normalize, true},
                           data.parts(kExperts + (shared ? 1 : 0))) == Status::kOk);
      for (const size_t rows : {size_t{1}, size_t{61}}) {
        const std::vector<float> x = random.floats(rows * kModel);
        Matrix expected;
        for (size_t r = 0; r < rows; ++r) {
          const auto start = x.begin() + static_cast<ptrdiff_t>(r * kModel);
          const Matrix row(start, start + kModel);
          const Matrix logits = naiveLinear(row, data.router);
          Matrix sorted = logits;
          std::sort(sorted.begin(), sorted.end(), std::greater<>());
          Matrix sum = shared ? naiveFeedForward(row, data.experts[kExperts]) : Matrix(kModel);
          double total = 0;
          for (size_t e = 0; e < chosen; ++e) total += 1 / (1 + std::exp(-sorted[e]));
          for (size_t e = 0; e < kExperts; ++e) {
            if (logits[e] < sorted[chosen - 1]) continue;
            Matrix read = row;
            for (double& value : read) value /= (1 + std::exp(-logits[e])) * (normalize ? total : 1);
            const Matrix made = naiveFeedForward(read, data.experts[e]);
            for (size_t i = 0; i < kModel; ++i) sum[i] += made[i];
          }
          expected.insert(expected.end(), sum.begin(), sum.end());
        }
        CHECK(errorShare(outOf(layer, x), expected, data.experts[0].tolerance()) <= 1);
      }
    }
  }
}

TEST_CASE("Experts far below others are chosen where their sigmoid is all the same", "[layers]") {
  Random random(6);
  ExpertsData data(random);
  const std::vector<float> x(kModel, 1.0f);
  // Logits of 30, 29, 28 ..., whose sigmoids are 1 in float32, and -30, -31, ..., below 0.
  for (const bool negative : {false, true}) {
    std::fill(data.router.weight.begin(), data.router.weight.end(), 0.0f);
    for (size_t e = 0; e < kExperts; ++e) {
      const auto order = static_cast<float>(e);
      data.router.weight[e * kModel] = negative ? -30 - order : 26 + order;
    }
    FeedForward layer;
    REQUIRE(layer.create({Activation::kSilu, 1, false, true}, data.parts()) == Status::kOk);
    const size_t best = negative ? 0 : kExperts - 1;
    Matrix row(x.begin(), x.end());
    for (double& value : row) value /= 1 + std::exp(negative ? 30 : -30);
    CHECK(errorShare(outOf(layer, x), naiveFeedForward(row, data.experts[best]),
                     data.experts[0].tolerance()) <= 1);
  }
}

TEST_CASE("A row's experts do not depend on the rows beside it, in chunks", "[layers]") {
  Random random(2);
  const ExpertsData data(random);
  FeedForward layer;
  REQUIRE(layer.create({Activation::kSilu, 2, true}, data.parts()) == Status::kOk);
  const std::vector<float> x = random.floats(1000 * kModel);
  const std::vector<float> whole = outOf(layer, x);
  for (const size_t row : {size_t{0}, size_t{299}, size_t{300}, size_t{999}}) {
    const auto part = [&](const std::vector<float>& all) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(row * kModel);
      return std::vector<float>(begin, begin + kModel);
    };
    CHECK(sameBits(outOf(layer, part(x)), part(whole)));
  }
}

TEST_CASE("Of equal experts the first are taken, and NaN stays NaN", "[layers]") {
  Random random(3);
  ExpertsData data(random);
  std::fill(data.router.weight.begin(), data.router.weight.end(), 0.0f);
  FeedForward layer;
  REQUIRE(layer.create({Activation::kSilu, 2, true}, data.parts()) == Status::kOk);
  std::vector<float> x = random.floats(kModel);
  const Matrix row(x.begin(), x.end());
  Matrix expected(kModel);
  for (size_t e = 0; e < 2; ++e) {
    const Matrix made = naiveFeedForward(row, data.experts[e]);
    for (size_t i = 0; i < kModel; ++i) expected[i] += made[i] / 2;
  }
  CHECK(errorShare(outOf(layer, x), expected, data.experts[0].tolerance()) <= 1);
  x[3] = kNaN;
  for (const float value : outOf(layer, x)) CHECK(std::isnan(value));
}

TEST_CASE("Experts refuse parts that do not fit, and stay what they were", "[layers]") {
  Random random(4);
  const ExpertsData data(random);
  FeedForward layer;
  REQUIRE(layer.create({Activation::kSilu, 2, true}, data.parts()) == Status::kOk);
  const size_t bytes = layer.bytes();
  const auto refused = [&](size_t chosen, auto change) {
    FeedForwardParts parts = data.parts();
    change(parts);
    const Status status = layer.create({Activation::kSilu, chosen, true}, std::move(parts));
    CHECK(status == Status::kInvalidShape);
    CHECK(layer.bytes() == bytes);
  };
  refused(0, [](FeedForwardParts&) {});
  refused(2, [](FeedForwardParts& p) { p.next = nullptr; });  // fewer than the router has rows
  refused(2, [&](FeedForwardParts& p) {                       // two more
    p.router = MatrixData(random, kExperts - 2, kModel, false).linear(WeightType::kFloat32);
  });
  refused(2, [&](FeedForwardParts& p) {
    p.router = MatrixData(random, kExperts, kModel + 1, false).linear(WeightType::kFloat32);
  });
  refused(2, [&](FeedForwardParts& p) {
    BlockShape shape;
    shape.model = kModel;
    shape.hidden = 12;
    const BlockData wide(random, shape, 1, 1);
    FeedForwardParts own = wide.feedForwardParts();
    p.next = std::make_unique<FeedForward>();
    REQUIRE(p.next->create({Activation::kSilu}, std::move(own)) == Status::kOk);
  });
}

}  // namespace ropewalk::test
