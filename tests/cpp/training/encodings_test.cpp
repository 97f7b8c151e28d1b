// Attention of a layer with encodings of their own terms, against their formulas: maps of a first layer in
// double.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/trainer.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

// A layer whose parameters are nowhere at their start, and what its queries and keys are.
struct FirstLayer {
  ModelOptions model;
  size_t tokens;
  Trainer<double> trainer;
  BatchData<double> batch;
  std::vector<double> q, k;  // [T, d]

  FirstLayer(ModelOptions options, size_t length) : FirstLayer(options, length, Random(27)) {}

  FirstLayer(ModelOptions options, size_t length, Random random)
      : model(options),
        tokens(length),
        trainer(trainerOf<double>(options)),
        batch(random, options.vocab, 1, length) {
    for (size_t i = 0; i < trainer.layout().size(); ++i) trainer.parameters()[i] += random.uniform(-0.3, 0.3);
    q = projected("layers.0.query");
    k = projected("layers.0.key");
  }

  const double* parameter(const char* name) { return trainer.parameter(name).data; }

  // Of token vectors after the norm.
  std::vector<double> projected(const char* name) {
    const size_t d = model.model_dim;
    std::vector<double> out(tokens * d, 0);
    for (size_t t = 0; t < tokens; ++t) {
      const double* const x = parameter("embedding") + static_cast<size_t>(batch.ids[t]) * d;
      double squares = 0;
      for (size_t i = 0; i < d; ++i) squares += x[i] * x[i] / static_cast<double>(d);
      for (size_t o = 0; o < d; ++o) {
        for (size_t i = 0; i < d; ++i) {
          out[t * d + o] += parameter(name)[o * d + i] * parameter("layers.0.attention_norm")[i] * x[i] /
                            std::sqrt(squares + model.eps);
        }
      }
    }
    return out;
  }

  const double* query(size_t h, size_t i) const {
    return q.data() + i * model.model_dim + h * model.headDim();
  }
  const double* key(size_t h, size_t j) const { return k.data() + j * model.model_dim + h * model.headDim(); }
  double dot(const double* a, const double* b) const {
    double sum = 0;
    for (size_t e = 0; e < model.headDim(); ++e) sum += a[e] * b[e];
    return sum;
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(model.headDim())); }

  // The largest difference of the maps from the softmax of score(head, query, key).
  template <class Score>
  double errorOf(Score score) {
    std::vector<double> maps(model.heads * tokens * tokens);
    REQUIRE(trainer.capture(batch.sequences(), maps.data()) == Status::kOk);
    Worst worst;
    for (size_t h = 0; h < model.heads; ++h) {
      for (size_t i = 0; i < tokens; ++i) {
        const size_t keys = model.causal ? i + 1 : tokens;
        std::vector<double> expected(tokens, 0);
        double total = 0;
        for (size_t j = 0; j < keys; ++j) total += expected[j] = std::exp(score(h, i, j));
        for (size_t j = 0; j < tokens; ++j)
          worst.add(maps[(h * tokens + i) * tokens + j], expected[j] / total, 1);
      }
    }
    return worst.share();
  }
};

// check(layer) for causal and bidirectional layers, of one block of queries and of two.
template <class Change, class Check>
void eachLayer(PositionKind kind, Change change, Check check) {
  for (const bool causal : {false, true}) {
    for (const size_t tokens : {size_t{7}, size_t{131}}) {
      ModelOptions model = smallModel(kind);
      model.layers = 1;
      model.causal = causal;
      change(model.position);
      FirstLayer layer(model, tokens);
      INFO((causal ? "causal, " : "bidirectional, ") << tokens << " tokens");
      check(layer);
    }
  }
}

double apart(size_t i, size_t j) {
  return static_cast<double>(i) - static_cast<double>(j);
}

}  // namespace

TEST_CASE("Sandwich: products of sinusoidal vectors, a slope for each head", "[training]") {
  eachLayer(
      PositionKind::kSandwich, [](PositionOptions& p) { p.width = 6; },
      [](FirstLayer& layer) {
        const double error = layer.errorOf([&](size_t h, size_t i, size_t j) {
          double product = 0;
          for (size_t w = 0; w < 3; ++w)
            product += std::cos(apart(i, j) * std::pow(100, -static_cast<double>(w) / 3));
          const double bias = product / (8 * static_cast<double>(h + 1) / 2);
          return layer.dot(layer.query(h, i), layer.key(h, j)) * layer.scale() + bias;
        });
        CHECK(error < 1e-13);
      });
}

TEST_CASE("Transformer-XL: (q + u) . k + (q + v) . R of the distance", "[training]") {
  eachLayer(
      PositionKind::kTransformerXl, [](PositionOptions&) {},
      [](FirstLayer& layer) {
        const size_t d = layer.model.model_dim;
        const size_t dim = layer.model.headDim();
        const double* const map = layer.parameter("layers.0.relative_projection");
        const double* const u = layer.parameter("layers.0.content_bias");
        const double* const v = layer.parameter("layers.0.position_bias");
        const double error = layer.errorOf([&](size_t h, size_t i, size_t j) {
          double sum = 0;
          for (size_t e = 0; e < dim; ++e) {
            const size_t row = h * dim + e;
            double r = 0;
            for (size_t c = 0; c < d; ++c) {
              const double angle = apart(i, j) * std::pow(100, -static_cast<double>(c % (d / 2)) * 2 / 8);
              r += map[row * d + c] * (c < d / 2 ? std::sin(angle) : std::cos(angle));
            }
            sum += (layer.query(h, i)[e] + u[row]) * layer.key(h, j)[e] + (layer.query(h, i)[e] + v[row]) * r;
          }
          return sum * layer.scale();
        });
        CHECK(error < 3e-6);  // s is rounded to float, some 8 of them make a number of R
      });
}

TEST_CASE("DeBERTa: vectors of distances, mapped as queries and keys are", "[training]") {
  // Rows of the distances from -9 to 9 by Hugging Face's make_log_bucket_position and clamp, span 6: with
  // max_position 9, whose buckets reach 6 at 9, and without.
  constexpr size_t kRows[2][19] = {{0, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 11, 11},
                                   {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 11, 11}};
  for (const bool buckets : {true, false}) {
    eachLayer(
        PositionKind::kDeberta,
        [&](PositionOptions& p) {
          p.max_relative = 6;
          p.max_distance = buckets ? 9 : 0;
        },
        [&](FirstLayer& layer) {
          const size_t d = layer.model.model_dim;
          const double* const vectors = layer.parameter("relative_embeddings");
          const auto mapped = [&](const char* name, size_t row, size_t out) {
            double sum = 0;
            for (size_t c = 0; c < d; ++c) sum += layer.parameter(name)[out * d + c] * vectors[row * d + c];
            return sum;
          };
          std::vector<double> keys, queries;
          for (size_t row = 0; row < 12; ++row) {
            for (size_t out = 0; out < d; ++out) {
              keys.push_back(mapped("layers.0.key", row, out));
              queries.push_back(mapped("layers.0.query", row, out));
            }
          }
          const double error = layer.errorOf([&](size_t h, size_t i, size_t j) {
            const double distance = std::clamp(apart(i, j), -9.0, 9.0);
            const size_t at = kRows[buckets ? 0 : 1][static_cast<size_t>(distance + 9)] * d + h * 4;
            const double sum = layer.dot(layer.query(h, i), layer.key(h, j)) +
                               layer.dot(layer.query(h, i), keys.data() + at) +
                               layer.dot(layer.key(h, j), queries.data() + at);
            return sum / std::sqrt(3.0 * 4);
          });
          CHECK(error < 1e-13);
        });
  }
}

TEST_CASE("CoPE: a row for how many keys count, by gates", "[training]") {
  for (const size_t positions : {size_t{1}, size_t{2}, size_t{5}, size_t{200}}) {
    eachLayer(
        PositionKind::kCope, [&](PositionOptions& p) { p.length = positions; },
        [&](FirstLayer& layer) {
          const auto logit = [&](size_t h, size_t i, size_t j) {
            return layer.dot(layer.query(h, i), layer.key(h, j)) * layer.scale();
          };
          const double error = layer.errorOf([&](size_t h, size_t i, size_t j) {
            double position = 0;
            for (size_t t = j; t < (layer.model.causal ? i + 1 : layer.tokens); ++t)
              position += 1 / (1 + std::exp(-logit(h, i, t)));
            position = std::min(position, static_cast<double>(positions - 1));
            const auto row = [&](double at) {
              return layer.dot(layer.query(h, i),
                               layer.parameter("layers.0.cope") + static_cast<size_t>(at) * 4);
            };
            const double part = position - std::floor(position);
            return logit(h, i, j) + (1 - part) * row(std::floor(position)) + part * row(std::ceil(position));
          });
          CHECK(error < 1e-12);
        });
  }
}

TEST_CASE("RoPE-Mixed: pairs turn by columns and rows, each times a learned frequency", "[training]") {
  for (const Pairing pairing : {Pairing::kHalf, Pairing::kInterleaved}) {
    eachLayer(
        PositionKind::kRopeMixed,
        [&](PositionOptions& p) {
          p.pairing = pairing;
          p.columns = 4;
        },
        [&](FirstLayer& layer) {
          const double* const fx = layer.parameter("layers.0.frequencies_x");
          const double* const fy = layer.parameter("layers.0.frequencies_y");
          const auto column = [](size_t t) { return static_cast<double>(t % 4); };
          const auto row = [](size_t t) { return static_cast<double>(t / 4); };
          const double error = layer.errorOf([&](size_t h, size_t i, size_t j) {
            double sum = 0;
            for (size_t p = 0; p < 2; ++p) {
              const size_t a = pairing == Pairing::kHalf ? p : 2 * p;
              const size_t b = pairing == Pairing::kHalf ? 2 + p : 2 * p + 1;
              const double* const q = layer.query(h, i);
              const double* const k = layer.key(h, j);
              const double angle =
                  (column(j) - column(i)) * fx[h * 2 + p] + (row(j) - row(i)) * fy[h * 2 + p];
              sum += (q[a] * k[a] + q[b] * k[b]) * std::cos(angle) +
                     (q[b] * k[a] - q[a] * k[b]) * std::sin(angle);
            }
            return sum * layer.scale();
          });
          CHECK(error < 1e-13);
        });
  }
}

TEST_CASE("RoPE-Mixed begins with two directions at a right angle in each head", "[training]") {
  ModelOptions model = smallModel(PositionKind::kRopeMixed);
  model.model_dim = 16;
  Trainer<double> trainer = trainerOf<double>(model);
  std::vector<double> angles;
  for (const char* layer : {"layers.0.", "layers.1."}) {
    const double* const fx = trainer.parameter((std::string(layer) + "frequencies_x").c_str()).data;
    const double* const fy = trainer.parameter((std::string(layer) + "frequencies_y").c_str()).data;
    for (size_t h = 0; h < 2; ++h) {
      const double* const x = fx + h * 4;
      const double* const y = fy + h * 4;
      for (size_t p = 0; p < 4; ++p)
        CHECK(std::fabs(std::hypot(x[p], y[p]) - std::pow(100, -static_cast<double>(p % 2) / 2)) < 1e-15);
      for (size_t p = 0; p < 2; ++p) {
        CHECK(std::fabs(x[p] * x[2 + p] + y[p] * y[2 + p]) < 1e-15);
        CHECK(x[p] * y[2 + p] - y[p] * x[2 + p] > 0);
      }
      CHECK(std::fabs(x[0] * y[1] - y[0] * x[1]) < 1e-15);
      angles.push_back(std::atan2(y[0], x[0]));
    }
  }
  std::sort(angles.begin(), angles.end());
  CHECK(std::adjacent_find(angles.begin(), angles.end()) == angles.end());
}

TEST_CASE("Axial positions are learned ones, each the sum of a row's vector and a column's", "[training]") {
  constexpr size_t kTokens = 8;
  ModelOptions model = smallModel(PositionKind::kAxial);
  const FirstLayer layer(model, kTokens);
  Trainer<double> axial = trainerOf<double>(model, 5);
  model.position.kind = PositionKind::kLearned;
  Trainer<double> learned = trainerOf<double>(model, 5);
  const size_t d = model.model_dim;
  const auto at = [](auto& trainer, const char* name) { return trainer.parameter(name).data; };
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t c = 0; c < d; ++c) {
      at(learned, "positions")[t * d + c] =
          at(axial, "axial.rows")[t / 3 * d + c] + at(axial, "axial.columns")[t % 3 * d + c];
    }
  }
  double first = 0;
  double second = 0;
  REQUIRE(axial.differentiate(layer.batch.view(), &first) == Status::kOk);
  REQUIRE(learned.differentiate(layer.batch.view(), &second) == Status::kOk);
  CHECK(first == second);
}

}  // namespace ropewalk::test
