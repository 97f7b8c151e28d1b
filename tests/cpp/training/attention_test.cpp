// Softmax attention of training: values by their definition, gradients by central differences, and what
// positions make of queries, keys and scores.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "encodings/fire.h"
#include "encodings/sandwich.h"
#include "encodings/t5.h"
#include "reference.h"
#include "training/attention.h"
#include "training/central_differences.h"
#include "training/distance_bias.h"
#include "training/fire_bias.h"
#include "training/forget_gate.h"
#include "training/head_data.h"
#include "training/head_tables.h"
#include "training/mixed_rope.h"
#include "training/rotation.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

struct Named {
  const char* name;
  HeadTerms terms;
};

constexpr Named kTerms[] = {{"plain", {}},
                            {"bias by distance", {.bias = true}},
                            {"forget sums", {.forget = true}},
                            {"Shaw", {.query = true, .value = true}},
                            {"relative_key", {.query = true}},
                            {"relative_key_query", {.query = true, .key = true}},
                            {"M3", {.product = true}},
                            {"CoPE", {.cope = true}},
                            {"everything", {true, true, true, true, true, true, false}}};

template <class T>
double valueShare(const HeadData<T>& data, double unit) {
  const size_t tokens = data.distances.tokens;
  std::vector<T> weights(tokens * tokens, kNaN), out(tokens * data.value_dim, kNaN);
  std::vector<T> room(attentionRoom(data.distances, false), kNaN);
  attentionForward({weights.data()}, out.data(), data.value_dim, data.input(), room.data());
  std::vector<double> expected(tokens * tokens, 0);
  Worst worst;
  for (size_t i = 0; i < tokens; ++i) {
    double total = 0;
    for (size_t j = 0; j < data.distances.keys(i); ++j)
      total += expected[i * tokens + j] = std::exp(data.score(i, j));
    for (size_t j = 0; j < tokens; ++j) {
      expected[i * tokens + j] /= total;
      worst.add(weights[i * tokens + j], expected[i * tokens + j], unit * 100);
    }
  }
  const std::vector<double> mixed = data.mixed(expected);
  for (size_t i = 0; i < mixed.size(); ++i) worst.add(out[i], mixed[i], unit * 200);
  return worst.share();
}

// Gradients of a head by one form of its weights.
HeadGradientData gradientsOf(const HeadData<double>& data, bool kept) {
  const size_t tokens = data.distances.tokens;
  std::vector<double> weights((kept ? tokens : blockRows(tokens)) * tokens, kNaN);
  std::vector<double> out(tokens * data.value_dim, kNaN);
  std::vector<double> room(attentionRoom(data.distances, false), kNaN);
  attentionForward({weights.data(), kept}, out.data(), data.value_dim, data.input(), room.data());
  HeadGradientData gradients(data);
  attentionBackward(gradients.parts(data), data.c.data(), data.value_dim, {weights.data(), kept},
                    data.input(), room.data());
  return gradients;
}

}  // namespace

TEST_CASE("Attention of training is softmax attention with every term, at any size", "[training]") {
  for (const auto& [name, terms] : kTerms) {
    INFO(name);
    Random random(7);
    constexpr size_t kTokens[] = {0, 1, 2, 5, 8, 19, 128, 131, 300};  // blocks have 128 queries
    for (const size_t tokens : kTokens) {
      for (const bool causal : {false, true}) {
        CHECK(valueShare(HeadData<double>(random, tokens, causal, 3, 5, terms), 0x1p-53) <= 1);
        CHECK(valueShare(HeadData<float>(random, tokens, causal, 8, 4, terms), kUnit) <= 1);
      }
    }
  }
}

TEST_CASE("Gradients of softmax attention", "[training]") {
  for (const auto& [name, terms] : kTerms) {
    for (const bool causal : {false, true}) {
      Random random(8);
      HeadData<double> data(random, 6, causal, 4, 3, terms);
      std::vector<double> weights(36, kNaN), out(18, kNaN), room(attentionRoom(data.distances, false), kNaN);
      const auto loss = [&] {
        attentionForward({weights.data()}, out.data(), 3, data.input(), room.data());
        return dotOf(out, data.c);
      };
      const HeadGradientData gradients = gradientsOf(data, true);
      const std::string line = std::string("attention, ") + name + (causal ? ", causal" : "");
      CHECK(reported(line.c_str(), gradients.largestError(data, loss)) < kGradientTolerance);
    }
  }
}

TEST_CASE("Gradients of softmax attention by several blocks, with weights computed again", "[training]") {
  constexpr size_t kTokens = 270;
  for (const auto& [name, terms] : kTerms) {
    for (const bool causal : {false, true}) {
      Random random(24);
      HeadData<double> data(random, kTokens, causal, 4, 3, terms);
      std::vector<double> weights(blockRows(kTokens) * kTokens, kNaN), out(kTokens * 3, kNaN);
      std::vector<double> room(attentionRoom(data.distances, false), kNaN);
      const auto loss = [&] {
        attentionForward({weights.data(), false}, out.data(), 3, data.input(), room.data());
        return dotOf(out, data.c);
      };
      const HeadGradientData gradients = gradientsOf(data, false);
      const std::string line = std::string("attention by blocks, ") + name + (causal ? ", causal" : "");
      CHECK(reported(line.c_str(), gradients.largestErrorAlong(random, data, loss)) < kGradientTolerance);
    }
  }
}

TEST_CASE("Weights computed again give the bits of those that were kept", "[training]") {
  for (const auto& [name, terms] : kTerms) {
    INFO(name);
    for (const size_t tokens : {size_t{5}, size_t{131}, size_t{300}}) {
      for (const bool causal : {false, true}) {
        Random random(25);
        HeadData<double> data(random, tokens, causal, 4, 3, terms);
        const HeadGradientData kept = gradientsOf(data, true);
        std::vector<const std::vector<double>*> expected;
        kept.eachPart(data, [&](auto&, const auto& gradient) { expected.push_back(&gradient); });
        size_t i = 0;
        gradientsOf(data, false).eachPart(data, [&](auto&, const auto& gradient) {
          CHECK(sameBits(gradient, *expected[i++]));
        });
      }
    }
  }
}

TEST_CASE("Gradients of ALiBi's slopes, T5's table, KERPLE's and FIRE's numbers", "[training]") {
  constexpr const char* kNames[] = {"ALiBi slopes", "T5 table", "KERPLE r1, r2", "FIRE"};
  for (const BiasKind kind : {BiasKind::kAlibi, BiasKind::kT5, BiasKind::kKerple, BiasKind::kFire}) {
    for (const bool causal : {false, true}) {
      Random random(9);
      T5Buckets buckets;
      REQUIRE(buckets.create({!causal, 6, 5}) == Status::kOk);
      BiasShape shape = {kind, 2, &buckets, {9, causal}, 5, 4.5, nullptr};
      std::vector<double> room(FireTables::room(shape), kNaN);
      shape.room = room.data();
      const bool fire = kind == BiasKind::kFire;
      std::vector<double> first = randomDoubles(random, fire ? fireSize(2, 5) : 12, fire ? -1 : 0.5, 1.5);
      std::vector<double> second = randomDoubles(random, 2, 0.5, 1.5);
      const size_t n = 2 * shape.size();
      const std::vector<double> c = randomDoubles(random, n);
      std::vector<double> bias(n), dfirst(first.size(), 0), dsecond(2, 0);
      const auto loss = [&] {
        distanceBias<double>(bias.data(), shape, {first.data(), second.data()});
        return dotOf(bias, c);
      };
      distanceBiasBackward<double>({dfirst.data(), dsecond.data()}, c.data(), shape,
                                   {first.data(), second.data()});
      loss();
      for (size_t p = 0; kind == BiasKind::kT5 && p < shape.distances.count(); ++p)
        CHECK(bias[p] == first[buckets.bucket(shape.distances.at(p)) * 2]);
      double error = gradientError(first, dfirst, loss);
      if (kind == BiasKind::kKerple) error = std::max(error, gradientError(second, dsecond, loss));
      CHECK(reported(kNames[static_cast<int>(kind)], error) < kGradientTolerance);
    }
  }
}

TEST_CASE("Sandwich's bias of training is that which is applied, and learns nothing", "[training]") {
  constexpr size_t kTokens = 12;
  constexpr size_t kHeads = 3;
  constexpr size_t kDim = 16;
  std::vector<double> sums(kTokens, 0);
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t k = 0; k < kDim / 2; ++k)
      sums[t] += std::cos(static_cast<double>(t) * std::pow(10000, -2.0 * static_cast<double>(k) / kDim));
  }
  BiasShape shape = {BiasKind::kSandwich, kHeads, nullptr, {kTokens, false}, 0, 0, nullptr};
  shape.sums = sums.data();
  std::vector<double> bias(kHeads * shape.size());
  distanceBias<double>(bias.data(), shape, {});
  distanceBiasBackward<double>({}, bias.data(), shape, {});
  std::vector<float> applied(kHeads * kTokens * kTokens);
  REQUIRE(sandwichBias({kHeads, kDim, 10000, kTokens, kTokens, 0}, applied.data()) == Status::kOk);
  Worst worst;
  for (size_t n = 0; n < applied.size(); ++n) {
    const size_t i = n / kTokens % kTokens;
    const double of_training =
        bias[n / (kTokens * kTokens) * shape.size() + shape.distances.first(i) + n % kTokens];
    worst.add(applied[n], of_training, kUnit * std::max(1.0, std::fabs(of_training)));
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("FIRE is trained as it is applied", "[training]") {
  constexpr size_t kTokens = 12;
  constexpr size_t kWidth = 5;
  Random random(11);
  for (const double threshold : {0.5, 4.5, 100.0}) {
    BiasShape shape = {BiasKind::kFire, 2, nullptr, {kTokens, false}, kWidth, threshold, nullptr};
    std::vector<double> room(FireTables::room(shape), kNaN);
    shape.room = room.data();
    std::vector<double> parameters = randomDoubles(random, fireSize(2, kWidth), -1, 1);
    parameters[0] = 0.3;
    parameters[1] = 1;
    std::vector<double> bias(2 * shape.size());
    distanceBias<double>(bias.data(), shape, {parameters.data(), nullptr});
    const std::vector<float> rounded(parameters.begin(), parameters.end());
    const float* const p = rounded.data() + 2;
    const FireTerms terms = {0.3, threshold, kWidth, p, p + kWidth, p + 2 * kWidth, p + 4 * kWidth};
    std::vector<float> applied(2 * kTokens * kTokens);
    REQUIRE(ropewalk::fireBias({terms, 2, kTokens, kTokens, 0}, applied.data()) == Status::kOk);
    Worst worst;
    for (size_t n = 0; n < applied.size(); ++n) {
      const size_t i = n / kTokens % kTokens;
      const size_t at = n / (kTokens * kTokens) * shape.size() + i * shape.distances.count() +
                        shape.distances.first(i) + n % kTokens;
      worst.add(static_cast<double>(applied[n]), bias[at], 40 * kWidth * kUnit);
    }
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("FIRE is its network, whether its units start, stop, or do neither", "[training]") {
  constexpr size_t kTokens = 9;
  constexpr size_t kThreshold = 3;
  constexpr double kC = 0.4;
  // Units from a distance of 0 on, up to it, always, never; two from the same on, one up to that.
  const std::vector<double> weights = {1, -1, 0, 0, 0, 2, 2, -3};
  const std::vector<double> biases = {0, 0, 0.5, -0.5, 0, -1, -1, 1.5};
  const size_t width = weights.size();
  Random random(12);
  const std::vector<double> out = randomDoubles(random, width);
  std::vector<double> parameters = {kC, 1};
  for (const auto& part : {weights, biases, out, {0.25}})
    parameters.insert(parameters.end(), part.begin(), part.end());
  BiasShape shape = {BiasKind::kFire, 1, nullptr, {kTokens, false}, width, kThreshold, nullptr};
  std::vector<double> room(FireTables::room(shape), kNaN);
  shape.room = room.data();
  std::vector<double> bias(shape.size());
  distanceBias<double>(bias.data(), shape, {parameters.data(), nullptr});
  std::vector<double> given(shape.size(), 0);
  std::vector<double> expected(parameters.size(), 0);
  for (size_t i = 0; i < kTokens; ++i) {
    for (size_t j = 0; j < kTokens; ++j) {
      const auto distance = static_cast<double>(i > j ? i - j : j - i);
      const double t =
          std::log1p(kC * distance) / std::log1p(kC * static_cast<double>(std::max(i, kThreshold)));
      const size_t at = i * shape.distances.count() + shape.distances.first(i) + j;
      given[at] = random.uniform(-1, 1);
      double sum = 0.25;
      expected[2 + 3 * width] += given[at];
      for (size_t w = 0; w < width; ++w) {
        const double hidden = weights[w] * t + biases[w];
        if (hidden <= 0) continue;
        sum += out[w] * hidden;
        expected[2 + w] += given[at] * out[w] * t;
        expected[2 + width + w] += given[at] * out[w];
        expected[2 + 2 * width + w] += given[at] * hidden;
      }
      CHECK(std::fabs(bias[at] - sum) < 1e-13);
    }
  }
  std::vector<double> found(parameters.size(), 0);
  distanceBiasBackward<double>({found.data(), nullptr}, given.data(), shape, {parameters.data(), nullptr});
  for (size_t p = 2; p < found.size(); ++p) {
    INFO("parameter " << p);
    CHECK(std::fabs(found[p] - expected[p]) < 1e-12);
  }
  // What is not finite in any parameter shows in every bias but those of a distance of 0, which c does not
  // move.
  for (size_t p = 0; p < parameters.size(); ++p) {
    std::vector<double> changed = parameters;
    changed[p] = std::nan("");
    distanceBias<double>(bias.data(), shape, {changed.data(), nullptr});
    INFO("parameter " << p);
    CHECK(std::isnan(bias[shape.distances.first(0)]));
    CHECK(std::isnan(bias[shape.distances.first(0) + kTokens - 1]));
  }
}

TEST_CASE("FIRE makes biases, and takes gradients, of the heads that are asked for alone", "[training]") {
  constexpr size_t kTokens = 6, kWidth = 3, kHeads = 3;
  const BiasShape shape = {BiasKind::kFire, kHeads, nullptr, {kTokens, true}, kWidth, 4, nullptr};
  Random random(13);
  const std::vector<double> parameters = randomDoubles(random, fireSize(kHeads, kWidth), 0.1, 1);
  const size_t n = FireTables::room(shape);
  std::vector<double> room(n + 64, 7);  // what lies behind it has to stay
  const FireTables tables(room.data(), shape);
  for (size_t head = 0; head < kHeads; ++head) {
    tables.prepare(parameters.data(), shape.threshold);
    std::vector<double> bias(2 * shape.size(), 7);
    fireBias(bias.data(), tables, {allQueries(shape.distances), head, head + 1});
    CHECK(std::all_of(bias.begin() + static_cast<std::ptrdiff_t>(shape.size()), bias.end(),
                      [](double x) { return x == 7; }));
    std::vector<double> dbias(2 * shape.size(), kNaN);  // of one head, and what lies behind it
    std::fill_n(dbias.begin(), shape.size(), 1.0);
    fireBiasBackward(tables, dbias.data(), {allQueries(shape.distances), head, head + 1});
    CHECK(std::isfinite(tables.gradientOfC()));
    CHECK(std::isfinite(tables.gradientOfStart()));
    for (size_t h = 0; h < kHeads; ++h) {
      double sum = 0;
      for (size_t line = 0; line <= kWidth; ++line) sum += tables.sums(h)[line];
      CHECK(sum == (h == head ? kTokens * (kTokens + 1) / 2 : 0));
    }
    CHECK(std::all_of(room.begin() + static_cast<std::ptrdiff_t>(n), room.end(),
                      [](double x) { return x == 7; }));
  }
}

TEST_CASE("Rows of tables are laid out by distance, and gradients find their row again", "[training]") {
  for (const bool key_minus_query : {false, true}) {
    for (const bool causal : {false, true}) {
      Random random(10);
      const RelativeRows rows = {2, key_minus_query};
      const Distances d = {5, causal};
      std::vector<double> table = randomDoubles(random, rows.rows() * 3);
      const std::vector<double> c = randomDoubles(random, d.count() * 3);
      std::vector<double> out(c.size(), kNaN), gradient(table.size(), 0);
      const auto loss = [&] {
        layOutByDistance(out.data(), table.data(), rows, d, 3);
        return dotOf(out, c);
      };
      loss();
      for (size_t i = 0; i < d.tokens; ++i) {
        for (size_t j = 0; j < d.keys(i); ++j) {
          const auto distance = static_cast<int64_t>(j) - static_cast<int64_t>(i);
          CHECK(out[(d.first(i) + j) * 3] == table[rows.row(distance) * 3]);
        }
      }
      layOutBackward(gradient.data(), c.data(), rows, d, 3);
      CHECK(reported("relative rows", gradientError(table, gradient, loss)) < kGradientTolerance);
    }
  }
}

TEST_CASE("The gradient of a rotation is the inverse rotation, times the attention factor", "[training]") {
  constexpr size_t kTokens = 4, kStride = 7, kPairs = 2;
  constexpr double kFactor = 1.3;
  for (const Pairing pairing : {Pairing::kHalf, Pairing::kInterleaved}) {
    Random random(11);
    std::vector<double> cos(kTokens * kPairs), sin(kTokens * kPairs);
    for (size_t i = 0; i < cos.size(); ++i) {
      const double angle = random.uniform(-3, 3);
      cos[i] = kFactor * std::cos(angle);
      sin[i] = kFactor * std::sin(angle);
    }
    const AngleTables<double> tables = {cos.data(), sin.data(), kPairs};
    std::vector<double> x = randomDoubles(random, kTokens * kStride);
    const std::vector<double> c = randomDoubles(random, x.size());
    const auto loss = [&] {
      std::vector<double> turned = x;
      turnRows(turned.data(), kStride, kTokens, tables, pairing, Turn::kForward);
      return dotOf(turned, c);
    };
    std::vector<double> gradient = c;
    turnRows(gradient.data(), kStride, kTokens, tables, pairing, Turn::kBack);
    const char* name = pairing == Pairing::kHalf ? "rotation, halves" : "rotation, interleaved";
    CHECK(reported(name, gradientError(x, gradient, loss)) < kGradientTolerance);
    turnRows(gradient.data(), kStride, kTokens, tables, pairing, Turn::kForward);
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double expected = c[i] * (i % kStride < 2 * kPairs ? kFactor * kFactor : 1);
      CHECK(std::fabs(gradient[i] - expected) < 1e-14);
    }
  }
}

TEST_CASE("Gradients of RoPE-Mixed's frequencies", "[training]") {
  constexpr size_t kStride = 9;
  const MixedShape shape = {7, 3, 2, 2};  // tokens, columns, heads, pairs
  for (const Pairing pairing : {Pairing::kHalf, Pairing::kInterleaved}) {
    Random random(41);
    std::vector<double> fx = randomDoubles(random, 4), fy = randomDoubles(random, 4);
    const std::vector<double> x = randomDoubles(random, shape.tokens * kStride);
    const std::vector<double> c = randomDoubles(random, x.size());
    std::vector<double> tables(shape.size(), kNaN);
    const auto turned = [&] {
      mixedTables<double>(tables.data(), {fx.data(), fy.data()}, shape);
      std::vector<double> rows = x;
      for (size_t h = 0; h < shape.heads; ++h) {
        turnRows(rows.data() + h * 4, kStride, shape.tokens, mixedTablesOf<double>(tables.data(), h, shape),
                 pairing, Turn::kForward);
      }
      return rows;
    };
    const auto loss = [&] { return dotOf(turned(), c); };
    const std::vector<double> rows = turned();
    std::vector<double> dfx(4, 0), dfy(4, 0);
    for (size_t h = 0; h < shape.heads; ++h) {
      mixedBackward<double>({dfx.data() + h * 2, dfy.data() + h * 2}, rows.data() + h * 4, c.data() + h * 4,
                            kStride, shape, pairing);
    }
    CHECK(reported("RoPE-Mixed, by columns", gradientError(fx, dfx, loss)) < kGradientTolerance);
    CHECK(reported("RoPE-Mixed, by rows", gradientError(fy, dfy, loss)) < kGradientTolerance);
  }
}

TEST_CASE("Gradients of tables that each head has for itself, and of biases of queries", "[training]") {
  const HeadTableShape shape = {5, 2, 3};  // distances, heads, D
  Random random(42);
  std::vector<double> vectors = randomDoubles(random, shape.distances * shape.width());
  std::vector<double> w = randomDoubles(random, shape.width() * shape.width());
  std::vector<double> u = randomDoubles(random, shape.width()), v = randomDoubles(random, shape.width());
  const std::vector<double> c = randomDoubles(random, shape.heads * shape.size());
  const std::vector<double> of_bias = randomDoubles(random, shape.heads * shape.distances);
  std::vector<double> tables(c.size(), kNaN), bias(of_bias.size(), kNaN);
  const auto loss = [&] {
    headTables<double>(tables.data(), vectors.data(), w.data(), shape);
    tableBias<double>(bias.data(), tables.data(), {u.data(), v.data()}, 0.7, shape);
    return dotOf(tables, c) + dotOf(bias, of_bias);
  };
  loss();
  std::vector<double> dtables = c, dw(w.size(), 0), dvectors(vectors.size(), 0), du(u.size(), 0),
                      dv(v.size(), 0);
  tableBiasBackward<double>({du.data(), dv.data()}, dtables.data(), of_bias.data(), tables.data(),
                            {u.data(), v.data()}, 0.7, shape);
  headTablesBackward<double>(dw.data(), dvectors.data(), dtables.data(), vectors.data(), w.data(), shape);
  CHECK(reported("tables of heads, map", gradientError(w, dw, loss)) < kGradientTolerance);
  CHECK(reported("tables of heads, vectors", gradientError(vectors, dvectors, loss)) < kGradientTolerance);
  CHECK(reported("biases of queries, content", gradientError(u, du, loss)) < kGradientTolerance);
  CHECK(reported("biases of queries, position", gradientError(v, dv, loss)) < kGradientTolerance);
}

// Coordinates come in pieces of 64.
TEST_CASE("PoPE: the score of its definition, and the gradients of values and phases", "[training]") {
  constexpr size_t kTokens = 3;
  for (const size_t dim : {size_t{4}, size_t{64}, size_t{65}, size_t{130}}) {
    const size_t stride = dim + 1;
    INFO(dim << " coordinates");
    Random random(12);
    std::vector<double> theta = randomDoubles(random, dim), cos, sin;
    for (size_t t = 0; t < kTokens; ++t) {
      for (const double w : theta) {
        cos.push_back(std::cos(static_cast<double>(t) * w));
        sin.push_back(std::sin(static_cast<double>(t) * w));
      }
    }
    const AngleTables<double> tables = {cos.data(), sin.data(), dim};
    std::vector<double> q = randomDoubles(random, kTokens * stride),
                        k = randomDoubles(random, kTokens * stride);
    std::vector<double> phases = randomDoubles(random, dim, -3, 3);
    std::vector<double> turned_q(kTokens * 2 * dim, kNaN), turned_k(kTokens * 2 * dim, kNaN);
    popeForward<double>(turned_q.data(), q.data(), stride, kTokens, tables, nullptr);
    popeForward<double>(turned_k.data(), k.data(), stride, kTokens, tables, phases.data());
    const auto softplus = [](double x) { return std::log(1 + std::exp(x)); };
    for (size_t i = 0; i < kTokens; ++i) {
      for (size_t j = 0; j < kTokens; ++j) {
        double expected = 0;
        double found = 0;
        const double distance = static_cast<double>(j) - static_cast<double>(i);
        for (size_t c = 0; c < dim; ++c) {
          expected += softplus(q[i * stride + c]) * softplus(k[j * stride + c]) *
                      std::cos(distance * theta[c] + phases[c]);
        }
        for (size_t e = 0; e < 2 * dim; ++e) found += turned_q[i * 2 * dim + e] * turned_k[j * 2 * dim + e];
        CHECK(std::fabs(found - expected) < 2.5e-15 * static_cast<double>(dim));
      }
    }

    const std::vector<double> c = randomDoubles(random, turned_k.size());
    const auto loss = [&] {
      popeForward<double>(turned_k.data(), k.data(), stride, kTokens, tables, phases.data());
      return dotOf(turned_k, c);
    };
    std::vector<double> dk(k.size(), 0), dphases(dim, 0);
    popeBackward<double>(dk.data(), dphases.data(), c.data(), k.data(), stride, kTokens, tables,
                         phases.data());
    CHECK(reported("PoPE, keys", gradientError(k, dk, loss)) < kGradientTolerance);
    CHECK(reported("PoPE, phases", gradientError(phases, dphases, loss)) < kGradientTolerance);
  }
}

TEST_CASE("Forget sums add up ln sigmoid of the gates", "[training]") {
  constexpr size_t kTokens = 5, kStride = 3;
  Random random(13);
  std::vector<double> gates = randomDoubles(random, kTokens * kStride, -3, 3);
  const std::vector<double> c = randomDoubles(random, kTokens);
  std::vector<double> sums(kTokens), gradient(gates.size(), 0);
  const auto loss = [&] {
    forgetSums(sums.data(), gates.data(), kStride, kTokens);
    return dotOf(sums, c);
  };
  loss();
  double expected = 0;
  for (size_t t = 0; t < kTokens; ++t) {
    expected -= std::log(1 + std::exp(-gates[t * kStride]));
    CHECK(std::fabs(sums[t] - expected) < 1e-14);
  }
  forgetSumsBackward(gradient.data(), c.data(), gates.data(), kStride, kTokens);
  CHECK(reported("forget gates", gradientError(gates, gradient, loss)) < kGradientTolerance);
}

}  // namespace ropewalk::test
