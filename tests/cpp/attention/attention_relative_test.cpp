// Attention with relative position terms against sums written out in double.
#include <cmath>
#include <vector>

#include "attention/attention.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr AttentionShape kShape = {2, 4, 2, 5, 7, 6, 6};

struct Tables {
  std::vector<float> query, key, product, value;

  Tables(Random& random, size_t rows)
      : query(random.floats(rows * kShape.dim)),
        key(random.floats(rows * kShape.dim)),
        product(random.floats(rows * kShape.dim)),
        value(random.floats(rows * kShape.value_dim)) {}
};

// The worst difference of the outputs from the sums of the definition. Scores add three dot products and
// outputs a second sum; all numbers are of order 1 to 10.
double worstDifference(AttentionData& data, const AttentionOptions& o) {
  const RelativeTerms& t = o.relative;
  double worst = 0;
  const auto q = data.queryView();
  const auto k = data.keyView();
  const auto v = data.valueView();
  for (size_t b = 0; b < q.batch; ++b) {
    for (size_t h = 0; h < q.heads; ++h) {
      for (size_t i = 0; i < q.tokens; ++i) {
        std::vector<double> weight(k.tokens, 0);
        double sum = 0;
        for (size_t j = 0; j < k.tokens; ++j) {
          if (isHidden(o, b, h, i, j)) continue;
          const size_t row = t.rows.row(i, j) * q.dim;
          double score = 0;
          for (size_t d = 0; d < q.dim; ++d) {
            const double a = q.row(b, h, i)[d];
            const double c = k.row(b, h / 2, j)[d];
            score += a * c * (t.product_table == nullptr ? 1.0 : t.product_table[row + d]);
            if (t.query_table != nullptr) score += a * t.query_table[row + d];
            if (t.key_table != nullptr) score += c * t.key_table[row + d];
          }
          sum += weight[j] = std::exp(o.scale * score);
        }
        for (size_t d = 0; d < v.dim; ++d) {
          double expected = 0;
          for (size_t j = 0; j < k.tokens; ++j) {
            const double own = v.row(b, h / 2, j)[d];
            const double place = t.value_table == nullptr ? 0 : t.value_table[t.rows.row(i, j) * v.dim + d];
            if (weight[j] != 0) expected += weight[j] / sum * (own + place);
          }
          worst = std::max(worst, std::fabs(data.outView().row(b, h, i)[d] - expected));
        }
      }
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("Relative tables add their terms, alone and together, clipped or not", "[attention]") {
  Random random(1);
  for (const int64_t limit : {0, 2, 9}) {
    for (unsigned terms = 0; terms < 16; ++terms) {
      AttentionData data(random, kShape, terms % 2 == 0);
      AttentionOptions options = scaled(kShape.dim);
      options.causal = terms % 3 == 0;
      options.causal_offset = 1;
      options.relative.rows = {limit, terms % 2 == 0, terms % 5 == 0 ? 3 : 0};
      const Tables tables(random, options.relative.rows.rows());
      if (terms & 1) options.relative.query_table = tables.query.data();
      if (terms & 2) options.relative.key_table = tables.key.data();
      if (terms & 4) options.relative.product_table = tables.product.data();
      if (terms & 8) options.relative.value_table = tables.value.data();
      REQUIRE(data.run(options) == Status::kOk);
      INFO("limit = " << limit << ", terms = " << terms);
      CHECK(worstDifference(data, options) <= 200 * kUnit);
    }
  }
}

TEST_CASE("Relative terms of hidden keys do not count, and an empty row stays zero", "[attention]") {
  Random random(2);
  AttentionData data(random, kShape);
  AttentionOptions options = scaled(kShape.dim);
  options.relative.rows = {3, true, 0};
  const Tables tables(random, 7);
  options.relative.value_table = tables.value.data();
  options.causal = true;
  options.causal_offset = -2;
  REQUIRE(data.run(options) == Status::kOk);
  CHECK(worstDifference(data, options) <= 200 * kUnit);
  for (size_t d = 0; d < kShape.value_dim; ++d) CHECK(data.outView().row(0, 0, 1)[d] == 0);
}

}  // namespace ropewalk::test
