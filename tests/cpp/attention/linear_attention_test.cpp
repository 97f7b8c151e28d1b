#include "attention/linear_attention.h"

#include <vector>

#include "attention/naive_linear_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

LinearCase caseOf(LinearKernel kernel, bool causal, RopePlan* rope = nullptr, bool both = true) {
  LinearCase c;
  c.options.kernel = kernel;
  c.options.rotate_normalizer = both;
  c.causal = causal;
  c.rope = rope;
  c.offset = 5;
  return c;
}

constexpr LinearKernel kKernels[] = {LinearKernel::kElu1, LinearKernel::kRelu, LinearKernel::kExp,
                                     LinearKernel::kCosine, LinearKernel::kProduct};

}  // namespace

TEST_CASE("Linear attention of every form and shape agrees with weights written out in double",
          "[attention]") {
  Random random(1);
  const LinearShape shapes[] = {{1, 1, 1, 1, 1, 2, 1},    {2, 4, 2, 5, 9, 6, 3},
                                {1, 2, 1, 63, 63, 8, 5},  {2, 3, 3, 64, 64, 4, 7},
                                {1, 6, 2, 65, 66, 10, 9}, {1, 1, 1, 130, 200, 16, 12},
                                {3, 2, 2, 1, 128, 32, 33}};
  for (const LinearShape& shape : shapes) {
    RopePlan rope = planOf(ropeOptions(shape.dim, shape.dim));
    for (const LinearKernel kernel : kKernels) {
      for (const bool causal : {false, true}) {
        for (const bool heads_first : {false, true}) {
          for (const int form : {0, 1, 2}) {  // no RoPE, numerator, both
            LinearCase c = caseOf(kernel, causal, form == 0 ? nullptr : &rope, form != 1);
            if (kernel == LinearKernel::kCosine && form == 1) continue;
            c.options.normalize = kernel != LinearKernel::kProduct;
            LinearData data(random, shape, heads_first);
            REQUIRE(data.run(c) == Status::kOk);
            INFO("kernel " << static_cast<int>(kernel) << ", form " << form << ", causal " << causal
                           << ", queries " << shape.queries);
            CHECK(data.errorShare(c) <= 1);
          }
        }
      }
    }
  }
}

TEST_CASE("Linear attention is right at every number of tokens and every head size", "[attention]") {
  Random random(2);
  for (size_t n = 1; n < 70; ++n) {
    for (const bool causal : {false, true}) {
      const LinearCase c = caseOf(LinearKernel::kElu1, causal);
      LinearData tokens(random, {1, 2, 1, n, n, 5, 6});
      REQUIRE(tokens.run(c) == Status::kOk);
      LinearData dims(random, {1, 1, 1, 3, 7, n, 70 - n});
      REQUIRE(dims.run(c) == Status::kOk);
      INFO("n = " << n);
      CHECK(tokens.errorShare(c) <= 1);
      CHECK(dims.errorShare(c) <= 1);
    }
  }
}

TEST_CASE("Positions of linear attention may be listed, for all of a batch or each of its entries",
          "[attention]") {
  Random random(23);
  const LinearShape shape = {2, 4, 2, 130, 130, 8, 5};
  RopePlan rope = planOf(ropeOptions(8, 8));
  LinearData data(random, shape);
  const LinearCase c = caseOf(LinearKernel::kElu1, true, &rope);
  REQUIRE(data.run(c) == Status::kOk);
  const std::vector<float> expected = data.out;
  for (const bool per_batch : {false, true}) {
    std::vector<int64_t> positions((per_batch ? 2 : 1) * shape.keys);
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = 5 + static_cast<int64_t>(i % shape.keys);
    LinearAttentionInput input = data.input(c);
    input.key_positions = input.query_positions = {positions.data(), per_batch, 0};
    REQUIRE(linearAttention(c.options, true, input, data.output()) == Status::kOk);
    CHECK(sameBits(data.out, expected));
  }
}

TEST_CASE("Linear attention of nothing is nothing, and without keys a row of zeros", "[attention]") {
  Random random(3);
  const LinearCase c = caseOf(LinearKernel::kElu1, false);
  LinearData no_queries(random, {1, 2, 2, 0, 3, 4, 4});
  CHECK(no_queries.run(c) == Status::kOk);
  CHECK(no_queries.report.minimum == kInfinity);
  LinearData no_keys(random, {1, 2, 2, 3, 0, 4, 4});
  CHECK(no_keys.run(c) == Status::kOk);
  CHECK(no_keys.out == std::vector<float>(24, 0.0f));
  CHECK(no_keys.report.zero == 6);
  CHECK(no_keys.report.minimum == 0);
}

TEST_CASE("A hidden key is nowhere, whatever it holds", "[attention]") {
  Random random(4);
  for (const bool causal : {false, true}) {
    LinearData data(random, {2, 2, 1, 70, 70, 6, 5});
    std::vector<uint8_t> keep(140, 1);
    for (const size_t j : std::vector<size_t>{0, 1, 2, 40, 63, 64, 69, 75, 110}) keep[j] = 0;
    LinearCase c = caseOf(LinearKernel::kElu1, causal);
    c.keep = keep.data();
    REQUIRE(data.run(c) == Status::kOk);
    CHECK(data.errorShare(c) <= 1);
    const std::vector<float> out = data.out;
    CHECK(data.report.zero ==
          (causal ? 6u : 0u));  // the first three tokens of the first batch entry, two heads
    for (size_t j = 0; j < 140; ++j) {
      if (keep[j] != 0) continue;
      std::fill_n(data.k.data() + j * 6, 6, kNaN);
      std::fill_n(data.v.data() + j * 5, 5, kInfinity);
    }
    REQUIRE(data.run(c) == Status::kOk);
    CHECK(sameBits(data.out, out));
  }
}

TEST_CASE("NaN reaches the rows that see it and no others", "[attention]") {
  Random random(5);
  LinearData data(random, {1, 2, 2, 100, 100, 4, 4});
  const LinearCase c = caseOf(LinearKernel::kElu1, true);
  REQUIRE(data.run(c) == Status::kOk);
  const std::vector<float> clean = data.out;
  data.v[(0 * 100 + 70) * 4 + 1] = kNaN;  // head 0, key 70, one coordinate
  data.k[(1 * 100 + 90) * 4] = kNaN;      // head 1, key 90
  data.q[(1 * 100 + 10) * 4] = kNaN;      // head 1, query 10
  REQUIRE(data.run(c) == Status::kOk);
  for (size_t row = 0; row < 200; ++row) {
    const size_t h = row / 100;
    const size_t t = row % 100;
    for (size_t d = 0; d < 4; ++d) {
      const bool reached = h == 0 ? t >= 70 && d == 1 : t >= 90 || t == 10;
      const float got = data.out[row * 4 + d];
      INFO("head " << h << ", token " << t << ", coordinate " << d);
      if (reached) {
        CHECK(std::isnan(got));
      } else {
        CHECK(std::fabs(got - clean[row * 4 + d]) <= 8 * kUnit * 2);  // other tiles, other order of sums
      }
    }
  }
  CHECK(data.report.non_finite == 11);
}

TEST_CASE("Denominators that are 0 or infinite give rows of zeros, and are counted", "[attention]") {
  Random random(6);
  LinearData data(random, {1, 1, 1, 4, 4, 3, 2});
  std::fill_n(data.q.data(), 3, -1.0f);  // relu leaves nothing of query 0
  REQUIRE(data.run(caseOf(LinearKernel::kRelu, false)) == Status::kOk);
  CHECK(data.report.zero >= 1);
  CHECK(data.report.minimum == 0);
  CHECK(data.out[0] == 0);
  CHECK(data.out[1] == 0);
  data.q[3] = 100;  // e^100 is infinite
  REQUIRE(data.run(caseOf(LinearKernel::kExp, false)) == Status::kOk);
  CHECK(data.report.non_finite == 1);
  CHECK(data.denominators[1] == kInfinity);
  CHECK(data.out[2] == 0);
  CHECK(data.out[3] == 0);
  CHECK(std::isfinite(data.out[4]));
}

TEST_CASE("RoPE in both sums makes denominators that change their sign, in the numerator alone it does not",
          "[attention]") {
  Random random(7);
  RopePlan rope = planOf(ropeOptions(2, 2));
  LinearData data(random, {1, 1, 1, 50, 50, 2, 3});
  REQUIRE(data.run(caseOf(LinearKernel::kRelu, true, &rope, true)) == Status::kOk);
  size_t negative = 0;
  for (const float d : data.denominators) negative += d < 0;
  CHECK(negative > 0);
  CHECK(data.report.negative == negative);
  REQUIRE(data.run(caseOf(LinearKernel::kRelu, true, &rope, false)) == Status::kOk);
  CHECK(data.report.negative == 0);
}

TEST_CASE("Without a denominator the sums are scaled, or normed to a root mean square of 1", "[attention]") {
  Random random(8);
  LinearData data(random, {1, 2, 1, 9, 9, 4, 6});
  LinearCase c = caseOf(LinearKernel::kElu1, true);
  c.options.normalize = false;
  c.options.scale = 0.25f;
  REQUIRE(data.run(c) == Status::kOk);
  CHECK(data.errorShare(c) <= 1);
  const std::vector<float> sums = data.out;
  const std::vector<float> weight = random.floats(6);
  LinearAttentionOutput output = data.output();
  output.rms_norm = true;
  output.rms_eps = 0.5f;
  output.rms_weight = weight.data();
  REQUIRE(linearAttention(c.options, true, data.input(c), output) == Status::kOk);
  Worst worst;
  for (size_t row = 0; row < 18; ++row) {
    double squares = 0;
    for (size_t d = 0; d < 6; ++d) squares += static_cast<double>(sums[row * 6 + d]) * sums[row * 6 + d];
    for (size_t d = 0; d < 6; ++d) {
      const double want = sums[row * 6 + d] / std::sqrt(squares / 6 + 0.5) * weight[d];
      worst.add(data.out[row * 6 + d], want, 2 * kUnit * std::fabs(want));
    }
  }
  CHECK(worst.share() <= 1);
  output.rms_eps = 0;
  std::fill(data.v.begin(), data.v.end(), 0.0f);
  REQUIRE(linearAttention(c.options, true, data.input(c), output) == Status::kOk);
  CHECK(data.out == std::vector<float>(108, 0.0f));
}

TEST_CASE("Shapes that do not fit are refused before anything is written", "[attention]") {
  Random random(9);
  LinearData data(random, {1, 4, 2, 3, 3, 4, 5});
  RopePlan other = planOf(ropeOptions(6, 6));
  RopePlan plan = planOf(ropeOptions(4, 4));
  const LinearCase c = caseOf(LinearKernel::kElu1, true);
  const auto refused = [&](auto change, Status status) {
    LinearAttentionInput in = data.input(c);
    change(in);
    std::vector<float> before = data.out;
    CHECK(linearAttention(c.options, true, in, data.output()) == status);
    CHECK(sameBits(data.out, before));
  };
  refused([](auto& in) { in.q.dim = in.k.dim = 0; }, Status::kInvalidShape);
  refused([](auto& in) { in.q.dim = 3; }, Status::kInvalidShape);
  refused([](auto& in) { in.q.batch = 2; }, Status::kInvalidShape);
  refused([](auto& in) { in.q.heads = 3; }, Status::kInvalidShape);
  refused([](auto& in) { in.v.tokens = 2; }, Status::kInvalidShape);
  refused([](auto& in) { in.v.heads = 1; }, Status::kInvalidShape);
  refused([](auto& in) { in.k.heads = in.v.heads = 0; }, Status::kInvalidShape);
  refused([](auto& in) { in.k.tokens = in.v.tokens = 2; }, Status::kInvalidShape);
  refused([&](auto& in) { in.rope = &other; }, Status::kInvalidShape);
  refused(
      [&](auto& in) {
        in.rope = &plan;
        in.key_positions.offset = kMaxPosition;
      },
      Status::kPositionOutOfRange);
}

}  // namespace ropewalk::test
