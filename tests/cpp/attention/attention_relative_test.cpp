// Attention with terms that depend on the distance of query and key: relative tables (Shaw, BERT, M3), biases
// by distance, and the returned scores.
#include <algorithm>
#include <cmath>
#include <vector>

#include "angles/phase.h"
#include "attention/attention.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "encodings/alibi.h"
#include "encodings/fire.h"
#include "encodings/t5.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr AttentionShape kShapes[] = {{1, 1, 1, 1, 1, 1, 1},
                                      {2, 4, 2, 3, 5, 8, 6},
                                      {1, 3, 1, 7, 4, 5, 9},
                                      {1, 2, 2, 1, 17, 16, 16},
                                      {2, 2, 1, 5, 5, 33, 3}};
constexpr AttentionShape kShape = {2, 4, 2, 5, 7, 6, 6};

struct Kind {
  const char* name;
  bool key_minus_query;
  bool query;
  bool key;
  bool product;
  bool value;
};
constexpr Kind kKinds[] = {{"Shaw, keys", true, true, false, false, false},
                           {"Shaw, values", true, false, false, false, true},
                           {"Shaw", true, true, false, false, true},
                           {"relative_key", false, true, false, false, false},
                           {"relative_key_query", false, true, true, false, false},
                           {"M3", false, false, false, true, false},
                           {"all at once", false, true, true, true, true}};

// The tables of a kind, each of exact size.
struct Tables {
  std::vector<float> query;
  std::vector<float> key;
  std::vector<float> product;
  std::vector<float> value;

  Tables(Random& random, const AttentionShape& shape, int64_t limit)
      : query(random.floats(rowsOf(limit) * shape.dim)),
        key(random.floats(rowsOf(limit) * shape.dim)),
        product(random.floats(rowsOf(limit) * shape.dim)),
        value(random.floats(rowsOf(limit) * shape.value_dim)) {}

  static size_t rowsOf(int64_t limit) { return 2 * static_cast<size_t>(limit) + 1; }

  RelativeTerms terms(const Kind& kind, int64_t limit) const {
    RelativeTerms terms;
    terms.rows = {limit, kind.key_minus_query};
    terms.query_table = kind.query ? query.data() : nullptr;
    terms.key_table = kind.key ? key.data() : nullptr;
    terms.product_table = kind.product ? product.data() : nullptr;
    terms.value_table = kind.value ? value.data() : nullptr;
    return terms;
  }
};

struct Results {
  std::vector<double> value;
  std::vector<double> tolerance;

  void add(double x, double t) {
    value.push_back(x);
    tolerance.push_back(t);
  }
  double share(const std::vector<float>& actual) const {
    REQUIRE(actual.size() == value.size());
    Worst worst;
    for (size_t n = 0; n < value.size(); ++n) worst.add(actual[n], value[n], tolerance[n]);
    return worst.share();
  }
};

struct NaiveRelative {
  Results raw;            // [B, H, Tq, Tk]
  Results biased;         // [B, H, Tq, Tk]
  Results probabilities;  // [B, H, Tq, Tk]
  Results out;            // [B, H, Tq, Dv]
};

// The definition in double: every key and value with the row of its distance beside it.
NaiveRelative naiveRelative(const AttentionData& data, const AttentionOptions& o) {
  NaiveRelative result;
  const AttentionShape& s = data.shape;
  const RelativeTerms& terms = o.relative;
  const auto entry = [](const float* table, size_t row, size_t dim, size_t d) {
    return table == nullptr ? 0.0 : static_cast<double>(table[row * dim + d]);
  };
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t h = 0; h < s.heads; ++h) {
      const size_t g = h / (s.heads / s.kv_heads);
      for (size_t i = 0; i < s.queries; ++i) {
        std::vector<double> scores(s.keys, -kInfinity);
        std::vector<size_t> rows(s.keys);
        double score_error = 0;
        double largest = -kInfinity;
        double smallest = kInfinity;
        for (size_t j = 0; j < s.keys; ++j) {
          const int64_t distance = static_cast<int64_t>(j) - (static_cast<int64_t>(i) + o.query_offset);
          const int64_t limit = terms.rows.limit;
          rows[j] = static_cast<size_t>(
              std::clamp(terms.rows.key_minus_query ? distance : -distance, -limit, limit) + limit);
          double sum = 0;
          double work = 0;
          for (size_t d = 0; d < s.dim; ++d) {
            const double q = data.queryView().row(b, h, i)[d];
            const double k = data.keyView().row(b, g, j)[d];
            const double product = terms.product_table == nullptr
                                       ? 1.0
                                       : static_cast<double>(terms.product_table[rows[j] * s.dim + d]);
            for (const double term : {q * k * product, q * entry(terms.query_table, rows[j], s.dim, d),
                                      k * entry(terms.key_table, rows[j], s.dim, d)}) {
              sum += term;
              work += std::fabs(term);
            }
          }
          // The roundings of a dot product (at most D / 8 + 6), of the product before it, of two additions
          // and of the scale; the biases add one each.
          const double roundings = static_cast<double>(s.dim) / 8 + 12;
          const double raw_error = roundings * kUnit * std::fabs(o.scale) * work;
          result.raw.add(o.scale * sum, raw_error + 0x1p-120);
          const double by_distance =
              o.distance_bias == nullptr
                  ? 0
                  : o.distance_bias[h * o.distance_count + static_cast<size_t>(distance - o.distance_first)];
          const double bias = o.bias.data == nullptr ? 0 : o.bias.row(b, h, i)[j * o.bias.key_stride];
          const double error =
              raw_error + 2 * kUnit * (std::fabs(o.scale) * work + std::fabs(by_distance) + std::fabs(bias));
          const bool hidden = isHidden(o, b, h, i, j);
          result.biased.add(hidden ? -kInfinity : o.scale * sum + by_distance + bias, error + 0x1p-120);
          if (hidden) continue;
          scores[j] = o.scale * sum + by_distance + bias;
          score_error = std::max(score_error, error);
          largest = std::max(largest, scores[j]);
          smallest = std::min(smallest, scores[j]);
        }

        // As in naiveAttention.
        double sum = 0;
        for (const double x : scores) sum += x == -kInfinity ? 0 : std::exp(x - largest);
        const double spread = largest > -kInfinity ? largest - smallest : 0;
        const double relative = 2 * score_error + (2 * spread + 8 + static_cast<double>(s.keys)) * kUnit;
        std::vector<double> p(s.keys);
        for (size_t j = 0; j < s.keys; ++j) {
          p[j] = scores[j] == -kInfinity ? 0 : std::exp(scores[j] - largest) / sum;
          result.probabilities.add(p[j], relative * p[j] + 0x1p-126);
        }

        // Each value rounds twice, and so do its row's share of the weights and the row.
        for (size_t d = 0; d < s.value_dim; ++d) {
          double mixed = 0;
          double work = 0;
          for (size_t j = 0; j < s.keys; ++j) {
            if (scores[j] == -kInfinity) continue;
            const double value = data.valueView().row(b, g, j)[d];
            const double row = entry(terms.value_table, rows[j], s.value_dim, d);
            mixed += p[j] * (value + row);
            work += p[j] * (std::fabs(value) + std::fabs(row));
          }
          result.out.add(mixed, (relative + 5 * static_cast<double>(s.keys) * kUnit) * work + 0x1p-120);
        }
      }
    }
  }
  return result;
}

// data.out as [B, H, Tq, Dv], whatever its layout.
std::vector<float> outOf(AttentionData& data) {
  const AttentionShape& s = data.shape;
  std::vector<float> out;
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t h = 0; h < s.heads; ++h) {
      for (size_t i = 0; i < s.queries; ++i) {
        const float* row = data.outView().row(b, h, i);
        out.insert(out.end(), row, row + s.value_dim);
      }
    }
  }
  return out;
}

std::vector<float> scoresOf(AttentionData& data, const AttentionOptions& options,
                            float* ScoreOutputs::* stage) {
  const AttentionShape& s = data.shape;
  std::vector<float> scores(s.batch * s.heads * s.queries * s.keys, kNaN);
  ScoreOutputs outputs;
  outputs.*stage = scores.data();
  REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), options, outputs) ==
          Status::kOk);
  return scores;
}

void checkAgainstNaive(AttentionData& data, const AttentionOptions& options) {
  const NaiveRelative naive = naiveRelative(data, options);
  CHECK(naive.raw.share(scoresOf(data, options, &ScoreOutputs::raw)) <= 1);
  CHECK(naive.biased.share(scoresOf(data, options, &ScoreOutputs::biased)) <= 1);
  CHECK(naive.probabilities.share(scoresOf(data, options, &ScoreOutputs::probabilities)) <= 1);
  CHECK(naive.out.share(outOf(data)) <= 1);
}

// Both kinds of masks, [B, H, Tq, Tk].
struct Masks {
  std::vector<uint8_t> keep;
  std::vector<float> bias;

  Masks(Random& random, const AttentionShape& s)
      : keep(s.batch * s.heads * s.queries * s.keys), bias(keep.size()) {
    for (uint8_t& x : keep) x = random.bits() % 3 != 0;
    for (float& x : bias) x = random.bits() % 5 == 0 ? -kInfinity : static_cast<float>(random.uniform(-2, 2));
  }

  void apply(const AttentionShape& s, AttentionOptions& options) const {
    options.keep = {keep.data(), s.heads * s.queries * s.keys, s.queries * s.keys, s.keys, 1};
    options.bias = {bias.data(), s.heads * s.queries * s.keys, s.queries * s.keys, s.keys, 1};
  }
};

}  // namespace

TEST_CASE("Relative terms are those of their formulas", "[attention]") {
  Random random(1);
  for (const AttentionShape& shape : kShapes) {
    for (const Kind& kind : kKinds) {
      for (const int64_t limit : {0, 1, 3, 20}) {
        for (const int64_t offset : {0, 2, -3, 40}) {
          AttentionData data(random, shape, random.bits() % 2 == 0);
          const Tables tables(random, shape, limit);
          AttentionOptions options = scaled(shape.dim);
          options.relative = tables.terms(kind, limit);
          options.query_offset = offset;
          INFO(kind.name << ", limit " << limit << ", offset " << offset << ", D = " << shape.dim);
          checkAgainstNaive(data, options);
          options.causal = true;
          checkAgainstNaive(data, options);
        }
      }
    }
  }
}

TEST_CASE("Relative terms go with masks and biases", "[attention]") {
  Random random(2);
  for (const AttentionShape& shape : kShapes) {
    for (const Kind& kind : kKinds) {
      AttentionData data(random, shape);
      const Tables tables(random, shape, 2);
      const Masks masks(random, shape);
      const std::vector<float> by_distance = random.floats(shape.heads * (shape.queries + shape.keys - 1), 3);
      AttentionOptions options = scaled(shape.dim);
      options.relative = tables.terms(kind, 2);
      options.query_offset = 1;
      masks.apply(shape, options);
      INFO(kind.name << ", D = " << shape.dim);
      checkAgainstNaive(data, options);
      setDistanceBias(options, shape, by_distance);
      checkAgainstNaive(data, options);
      options.causal = true;
      checkAgainstNaive(data, options);
    }
  }
}

TEST_CASE("Queries and keys at the farthest positions meet the outermost rows", "[attention]") {
  Random random(3);
  for (const int64_t offset : {kMaxPosition - 10, -kMaxPosition}) {
    for (const Kind& kind : kKinds) {
      AttentionData data(random, kShape);
      const Tables tables(random, kShape, 3);
      AttentionOptions options = scaled(kShape.dim);
      options.relative = tables.terms(kind, 3);
      options.query_offset = offset;
      INFO(kind.name << ", offset " << offset);
      checkAgainstNaive(data, options);
    }
  }
}

TEST_CASE("Tables of zeros, or of ones for M3, are plain attention bit for bit", "[attention]") {
  Random random(4);
  AttentionData data(random, kShape);
  const std::vector<float> plain = scoresOf(data, scaled(kShape.dim), &ScoreOutputs::probabilities);
  const std::vector<float> plain_out = data.out;
  const std::vector<float> zeros(7 * kShape.dim, 0.0f);
  const std::vector<float> ones(7 * kShape.dim, 1.0f);
  AttentionOptions options = scaled(kShape.dim);
  options.relative = {{3, true}, zeros.data(), zeros.data(), ones.data(), zeros.data()};
  CHECK(sameBits(scoresOf(data, options, &ScoreOutputs::probabilities), plain));
  CHECK(sameBits(data.out, plain_out));
}

TEST_CASE("A temperature multiplies the queries of every relative term, and of token types", "[attention]") {
  Random random(12);
  constexpr AttentionShape kShapeOfOne = {1, 2, 1, 1, 9, 8, 5};
  const std::vector<float> types_table = random.floats(2 * 2 * 8);
  const std::vector<float> type_biases = random.floats(4);
  const std::vector<double> types = {0, 1, 0, 0, 1, 1, 0, 1, 0};
  for (const Kind& kind : kKinds) {
    for (const bool typed : {false, true}) {
      AttentionData data(random, kShapeOfOne);
      const Tables tables(random, kShapeOfOne, 3);
      AttentionOptions options = scaled(8);
      options.relative = tables.terms(kind, 3);
      options.query_offset = 8;
      if (typed) options.segments = {types_table.data(), type_biases.data(), types.data()};
      options.temperature = {2, 0.75f};
      REQUIRE(data.run(options) == Status::kOk);
      const std::vector<float> with = data.out;
      options.temperature = {};
      REQUIRE(data.run(options) == Status::kOk);
      INFO(kind.name << (typed ? ", of types" : ""));
      CHECK(!sameBits(data.out, with));
      for (float& q : data.q) q *= static_cast<float>(1 + 0.75 * std::log1p(4.0));
      REQUIRE(data.run(options) == Status::kOk);
      CHECK(sameBits(data.out, with));
    }
  }
}

TEST_CASE("Rows of a table that no key meets are not looked at", "[attention]") {
  Random random(5);
  constexpr int64_t kLimit = 12;  // 5 queries and 7 keys meet distances -4 .. 6
  const Kind& all = kKinds[6];
  AttentionData data(random, kShape);
  Tables tables(random, kShape, kLimit);
  AttentionOptions options = scaled(kShape.dim);
  options.relative = tables.terms(all, kLimit);
  const std::vector<float> scores = scoresOf(data, options, &ScoreOutputs::raw);
  const std::vector<float> out = data.out;
  for (size_t row = 0; row < Tables::rowsOf(kLimit); ++row) {
    const int64_t distance =
        kLimit - static_cast<int64_t>(row);  // key minus query: the table is the other way
    if (distance >= -4 && distance <= 6) continue;
    for (std::vector<float>* table : {&tables.query, &tables.key, &tables.product, &tables.value})
      std::fill_n(table->begin() + static_cast<ptrdiff_t>(row * kShape.dim), kShape.dim, kNaN);
  }
  CHECK(sameBits(scoresOf(data, options, &ScoreOutputs::raw), scores));
  CHECK(sameBits(data.out, out));
}

TEST_CASE("A hidden key's NaN spreads neither through its score nor through relative rows", "[attention]") {
  Random random(6);
  const Kind& all = kKinds[6];
  std::vector<uint8_t> keep(kShape.keys, 1);
  keep[3] = 0;
  std::vector<float> bias(kShape.keys, 0.5f);
  bias[3] = -kInfinity;
  for (const bool by_bias : {false, true}) {
    AttentionData data(random, kShape);
    const Tables tables(random, kShape, 2);
    AttentionOptions options = scaled(kShape.dim);
    options.relative = tables.terms(all, 2);
    if (by_bias) options.bias = {bias.data(), 0, 0, 0, 1};
    if (!by_bias) options.keep = {keep.data(), 0, 0, 0, 1};
    const std::vector<float> probabilities = scoresOf(data, options, &ScoreOutputs::probabilities);
    const std::vector<float> out = data.out;
    for (size_t b = 0; b < kShape.batch; ++b) {
      for (size_t g = 0; g < kShape.kv_heads; ++g) {
        const size_t row = (b * kShape.kv_heads + g) * kShape.keys + 3;
        std::fill_n(data.k.begin() + static_cast<ptrdiff_t>(row * kShape.dim), kShape.dim, kNaN);
        std::fill_n(data.v.begin() + static_cast<ptrdiff_t>(row * kShape.value_dim), kShape.value_dim, kNaN);
      }
    }
    CHECK(sameBits(scoresOf(data, options, &ScoreOutputs::probabilities), probabilities));
    CHECK(sameBits(data.out, out));
  }
}

TEST_CASE("Queries with relative terms one at a time give what they give together", "[attention]") {
  Random random(7);
  constexpr AttentionShape kWhole = {1, 2, 1, 9, 9, 16, 8};
  for (const Kind& kind : kKinds) {
    AttentionData data(random, kWhole);
    const Tables tables(random, kWhole, 3);
    AttentionOptions options = scaled(16);
    options.causal = true;
    options.relative = tables.terms(kind, 3);
    REQUIRE(data.run(options) == Status::kOk);
    for (size_t i = 0; i < 9; ++i) {
      AttentionData one(random, {1, 2, 1, 1, 9, 16, 8});
      one.k = data.k;
      one.v = data.v;
      for (size_t h = 0; h < 2; ++h) std::copy_n(data.queryView().row(0, h, i), 16, one.q.data() + h * 16);
      options.query_offset = static_cast<int64_t>(i);
      REQUIRE(one.run(options) == Status::kOk);
      INFO(kind.name << ", query " << i);
      for (size_t h = 0; h < 2; ++h)
        CHECK(sameBits(one.outView().row(0, h, 0), data.outView().row(0, h, i), 8));
    }
    options.query_offset = 0;
  }
}

TEST_CASE("Relative scores do not change when queries and keys move together", "[attention]") {
  Random random(8);
  constexpr AttentionShape kNear = {1, 2, 1, 4, 6, 10, 10};
  constexpr size_t kShift = 5;
  constexpr AttentionShape kFar = {1, 2, 1, 4, 6 + kShift, 10, 10};
  for (const Kind& kind : kKinds) {
    AttentionData near(random, kNear);
    AttentionData far(random, kFar);  // other keys stand before the same ones
    far.q = near.q;
    std::copy(near.k.begin(), near.k.end(), far.k.begin() + kShift * 10);
    std::copy(near.v.begin(), near.v.end(), far.v.begin() + kShift * 10);
    const Tables tables(random, kNear, 4);
    AttentionOptions options = scaled(10);
    options.relative = tables.terms(kind, 4);
    options.query_offset = 1;
    const std::vector<float> near_raw = scoresOf(near, options, &ScoreOutputs::raw);
    std::vector<uint8_t> keep(6 + kShift, 1);
    std::fill_n(keep.begin(), kShift, uint8_t{0});
    options.keep.data = keep.data();
    options.keep.key_stride = 1;
    options.query_offset = 1 + static_cast<int64_t>(kShift);
    const std::vector<float> far_raw = scoresOf(far, options, &ScoreOutputs::raw);
    INFO(kind.name);
    for (size_t row = 0; row < 8; ++row)
      CHECK(sameBits(&near_raw[row * 6], &far_raw[row * (6 + kShift) + kShift], 6));
    Worst worst;  // the two sums of a softmax may be taken in another order
    for (size_t n = 0; n < near.out.size(); ++n) worst.add(far.out[n], near.out[n], 40 * kUnit);
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("A bias by distance is a bias that depends on the distance, bit for bit", "[attention]") {
  Random random(9);
  for (const AttentionShape& s : kShapes) {
    AttentionData data(random, s);
    const std::vector<float> by_distance = random.floats(s.heads * (s.queries + s.keys - 1), 4);
    std::vector<float> spread;
    for (size_t h = 0; h < s.heads; ++h) {
      for (size_t i = 0; i < s.queries; ++i) {
        for (size_t j = 0; j < s.keys; ++j)
          spread.push_back(by_distance[h * (s.queries + s.keys - 1) + j + s.queries - 1 - i]);
      }
    }
    AttentionOptions options = scaled(s.dim);
    options.bias = {spread.data(), 0, s.queries * s.keys, s.keys, 1};
    const std::vector<float> expected = scoresOf(data, options, &ScoreOutputs::biased);
    const std::vector<float> expected_out = data.out;
    options.bias = {};
    setDistanceBias(options, s, by_distance);
    CHECK(sameBits(scoresOf(data, options, &ScoreOutputs::biased), expected));
    CHECK(sameBits(data.out, expected_out));
  }
}

TEST_CASE("ALiBi's and T5's biases by distance give what their whole biases give", "[attention]") {
  Random random(10);
  constexpr AttentionShape s = kShape;
  AttentionData data(random, s);
  T5Buckets buckets;
  REQUIRE(buckets.create({false, 8, 20}) == Status::kOk);
  const std::vector<float> table = random.floats(8 * s.heads);
  for (const int64_t offset : {0, 2, 100}) {
    for (const bool alibi : {true, false}) {
      std::vector<float> whole(s.heads * s.queries * s.keys);
      std::vector<float> by_distance(s.heads * (s.queries + s.keys - 1));
      const AlibiOptions shape = {s.heads, s.queries, s.keys, offset, AlibiVariant::kSymmetric};
      if (alibi) {
        REQUIRE(alibiBias(shape, whole.data()) == Status::kOk);
        // A query among keys from the farthest before it to the farthest behind.
        const AlibiOptions row = {s.heads, 1, s.queries + s.keys - 1,
                                  offset + static_cast<int64_t>(s.queries) - 1, AlibiVariant::kSymmetric};
        REQUIRE(alibiBias(row, by_distance.data()) == Status::kOk);
      } else {
        buckets.bias(table.data(), s.heads, s.queries, s.keys, offset, whole.data());
        buckets.bias(table.data(), s.heads, 1, s.queries + s.keys - 1,
                     offset + static_cast<int64_t>(s.queries) - 1, by_distance.data());
      }
      AttentionOptions options;
      options.scale = alibi ? 1 / std::sqrt(static_cast<float>(s.dim)) : 1.0f;
      options.causal = true;
      options.query_offset = offset;
      options.bias = {whole.data(), 0, s.queries * s.keys, s.keys, 1};
      REQUIRE(data.run(options) == Status::kOk);
      CHECK(data.errorShare(options) <= 1);
      const std::vector<float> out = data.out;
      options.bias = {};
      setDistanceBias(options, s, by_distance);
      REQUIRE(data.run(options) == Status::kOk);
      CHECK(sameBits(data.out, out));
    }
  }
}

TEST_CASE("FIRE by psi of the distances gives what its whole bias gives", "[attention]") {
  Random random(11);
  constexpr AttentionShape s = kShape;
  AttentionData data(random, s);
  constexpr size_t kWidth = 5;
  const std::vector<float> hidden = random.floats(2 * kWidth, 2);
  const std::vector<float> weights = random.floats(s.heads * kWidth);
  const std::vector<float> biases = random.floats(s.heads);
  const FireTerms terms = {0.3, 4, kWidth, hidden.data(), &hidden[kWidth], weights.data(), biases.data()};
  std::vector<int64_t> apart(s.keys);
  for (size_t j = 0; j < s.keys; ++j) apart[j] = static_cast<int64_t>(j);
  for (const int64_t offset : {0, 2, 100}) {
    std::vector<float> whole(s.heads * s.queries * s.keys);
    std::vector<float> psi(s.queries + s.keys - 1);
    REQUIRE(fireBias({terms, s.heads, s.queries, s.keys, offset}, whole.data()) == Status::kOk);
    REQUIRE(fireDistances({terms, s.heads, s.queries, s.keys, offset}, psi.data()) == Status::kOk);
    AttentionOptions options;
    options.causal = true;
    options.query_offset = offset;
    options.distance_bias = psi.data();
    options.distance_first = -(offset + static_cast<int64_t>(s.queries) - 1);
    options.distance_count = psi.size();
    options.fire = terms;
    AttentionOptions expected;
    expected.causal = true;
    expected.query_offset = offset;
    expected.bias = {whole.data(), 0, s.queries * s.keys, s.keys, 1};
    REQUIRE(data.run(options) == Status::kOk);
    CHECK(data.errorShare(expected) <= 1);
    const std::vector<float> out = data.out;
    options.key_positions = apart.data();  // each looked up
    REQUIRE(data.run(options) == Status::kOk);
    CHECK(sameBits(data.out, out));
  }
}

TEST_CASE("ALiBi's variants give the same attention where keys after the query are hidden", "[attention]") {
  Random random(11);
  constexpr AttentionShape s = {1, 6, 2, 5, 9, 8, 8};
  AttentionData data(random, s);
  std::vector<float> bias(s.heads * s.queries * s.keys);
  AttentionOptions options = scaled(s.dim);
  options.causal = true;
  options.query_offset = 4;
  options.bias = {bias.data(), 0, s.queries * s.keys, s.keys, 1};
  AlibiOptions alibi = {s.heads, s.queries, s.keys, 4, AlibiVariant::kSymmetric};
  REQUIRE(alibiBias(alibi, bias.data()) == Status::kOk);
  REQUIRE(data.run(options) == Status::kOk);
  const std::vector<float> symmetric = data.out;
  for (const AlibiVariant variant : {AlibiVariant::kBloom, AlibiVariant::kMpt}) {
    alibi.variant = variant;
    REQUIRE(alibiBias(alibi, bias.data()) == Status::kOk);
    REQUIRE(data.run(options) == Status::kOk);
    Worst worst;  // scores of up to 4 + 8 / 2 are rounded at other places
    for (size_t n = 0; n < symmetric.size(); ++n) worst.add(data.out[n], symmetric[n], 64 * kUnit);
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("Each stage of the scores follows from the one before", "[attention]") {
  Random random(12);
  for (const bool with_relative : {false, true}) {
    AttentionData data(random, kShape);
    const Tables tables(random, kShape, 2);
    const Masks masks(random, kShape);
    AttentionOptions options = scaled(kShape.dim);
    if (with_relative) options.relative = tables.terms(kKinds[2], 2);
    options.query_offset = 1;
    const std::vector<float> unhidden = scoresOf(data, options, &ScoreOutputs::raw);
    masks.apply(kShape, options);
    options.causal = true;

    const std::vector<float> raw = scoresOf(data, options, &ScoreOutputs::raw);
    const std::vector<float> out = data.out;
    const std::vector<float> biased = scoresOf(data, options, &ScoreOutputs::biased);
    CHECK(sameBits(data.out, out));
    const std::vector<float> probabilities = scoresOf(data, options, &ScoreOutputs::probabilities);
    CHECK(sameBits(data.out, out));
    REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), options) ==
            Status::kOk);
    CHECK(sameBits(data.out, out));

    CHECK(sameBits(raw, unhidden));  // hidden keys have raw scores too
    size_t n = 0;
    for (size_t b = 0; b < kShape.batch; ++b) {
      for (size_t h = 0; h < kShape.heads; ++h) {
        for (size_t i = 0; i < kShape.queries; ++i) {
          double sum = 0;
          bool empty = true;
          for (size_t j = 0; j < kShape.keys; ++j, ++n) {
            const bool hidden = isHidden(options, b, h, i, j);
            CHECK(biased[n] == (hidden ? -kInfinity : raw[n] + masks.bias[n]));
            CHECK((probabilities[n] == 0) == hidden);
            sum += probabilities[n];
            empty = empty && hidden;
          }
          CHECK(std::fabs(sum - (empty ? 0 : 1)) <= static_cast<double>(kShape.keys) * kUnit);
        }
      }
    }
  }
}

TEST_CASE("Heads may have tables of their own, and distances share rows", "[attention]") {
  Random random(14);
  constexpr int64_t kLimit = 5;
  constexpr int32_t kBuckets[] = {0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 7};
  for (const AttentionShape& shape :
       {AttentionShape{1, 1, 1, 1, 1, 1, 1}, AttentionShape{2, 3, 3, 9, 9, 8, 6},
        AttentionShape{1, 2, 2, 70, 300, 5, 4}}) {
    AttentionData data(random, shape);
    const size_t width = shape.heads * shape.dim;
    const std::vector<float> query = random.floats(8 * width);
    const std::vector<float> key = random.floats(8 * width);
    AttentionOptions options = scaled(shape.dim);
    options.relative.rows = {kLimit, false, kBuckets};
    options.relative.query_table = query.data();
    options.relative.key_table = key.data();
    options.relative.own_tables = true;
    const std::vector<float> scores = scoresOf(data, options, &ScoreOutputs::raw);

    for (size_t h = 0; h < shape.heads; ++h) {
      // Those of this head for all, with a row for each distance.
      std::vector<float> query_rows;
      std::vector<float> key_rows;
      for (const int32_t row : kBuckets) {
        for (size_t d = 0; d < shape.dim; ++d) {
          query_rows.push_back(query[static_cast<size_t>(row) * width + h * shape.dim + d]);
          key_rows.push_back(key[static_cast<size_t>(row) * width + h * shape.dim + d]);
        }
      }
      AttentionOptions shared = scaled(shape.dim);
      shared.relative.rows = {kLimit, false};
      shared.relative.query_table = query_rows.data();
      shared.relative.key_table = key_rows.data();
      const std::vector<float> want = scoresOf(data, shared, &ScoreOutputs::raw);
      const size_t size = shape.queries * shape.keys;
      for (size_t b = 0; b < shape.batch; ++b) {
        const auto from = static_cast<ptrdiff_t>((b * shape.heads + h) * size);
        CHECK(std::equal(want.begin() + from, want.begin() + from + static_cast<ptrdiff_t>(size),
                         scores.begin() + from));
      }
    }
  }
}

TEST_CASE("Relative attention over nothing is no error", "[attention]") {
  Random random(13);
  for (const Kind& kind : kKinds) {
    for (const AttentionShape& shape :
         {AttentionShape{1, 2, 1, 3, 0, 4, 5}, AttentionShape{1, 2, 1, 0, 3, 4, 5},
          AttentionShape{0, 2, 1, 3, 3, 4, 5}, AttentionShape{1, 1, 1, 2, 4, 0, 3},
          AttentionShape{1, 1, 1, 2, 4, 3, 0}}) {
      AttentionData data(random, shape);
      const Tables tables(random, shape, 1);
      const std::vector<float> by_distance(shape.heads * (shape.queries + shape.keys), 0.0f);
      AttentionOptions options = scaled(4);
      options.relative = tables.terms(kind, 1);
      setDistanceBias(options, shape, by_distance);
      INFO(kind.name);
      checkAgainstNaive(data, options);
    }
  }
}

TEST_CASE("Terms of token types are a bias that their queries make, whatever lies beside them",
          "[attention]") {
  Random random(9);
  for (const size_t tokens : {size_t{1}, size_t{5}, size_t{131}}) {
    const AttentionShape shape = {2, 4, 2, tokens, tokens, 6, 3};
    AttentionData data(random, shape);
    const std::vector<float> table = random.floats(2 * shape.heads * shape.dim);
    const std::vector<float> biases = random.floats(2 * shape.heads);
    std::vector<double> types(shape.batch * tokens);
    for (size_t t = 0; t < types.size(); ++t) types[t] = static_cast<double>(t * t % 7 % 3);
    AttentionOptions options = scaled(shape.dim);
    options.segments = {table.data(), biases.data(), types.data()};
    ScoreOutputs outputs;
    std::vector<float> raw(shape.batch * shape.heads * tokens * tokens, kNaN);
    outputs.raw = raw.data();
    REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), options, outputs) ==
            Status::kOk);

    Worst worst;
    size_t n = 0;
    for (size_t b = 0; b < shape.batch; ++b) {
      for (size_t h = 0; h < shape.heads; ++h) {
        for (size_t i = 0; i < tokens; ++i) {
          for (size_t j = 0; j < tokens; ++j, ++n) {
            const size_t other = types[b * tokens + i] == types[b * tokens + j] ? 0 : shape.heads;
            const float* q = data.queryView().row(b, h, i);
            const float* k = data.keyView().row(b, h / 2, j);
            const float* row = table.data() + (other + h) * shape.dim;
            double sum = static_cast<double>(biases[other + h]);
            double work = std::fabs(sum);
            for (size_t d = 0; d < shape.dim; ++d) {
              const double content = static_cast<double>(q[d]) * k[d];
              const double type = static_cast<double>(q[d]) * row[d];
              sum += content + type;
              work += std::fabs(content) + std::fabs(type);
            }
            worst.add(raw[n], options.scale * sum, 16 * kUnit * options.scale * work);
          }
        }
      }
    }
    CHECK(worst.share() <= 1);

    // Without types there are no terms, and with those of one type alone the weights are as without.
    std::vector<float> plain(data.out.size());
    options.segments.types = nullptr;
    REQUIRE(data.run(options) == Status::kOk);
    plain = data.out;
    CHECK(data.errorShare(options) <= 1);
    std::fill(types.begin(), types.end(), 4.0);
    options.segments.types = types.data();
    REQUIRE(data.run(options) == Status::kOk);
    for (size_t x = 0; x < plain.size(); ++x) CHECK(std::fabs(plain[x] - data.out[x]) <= 64 * kUnit * 8);
  }
}

}  // namespace ropewalk::test
