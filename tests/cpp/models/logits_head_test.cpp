#include "models/logits_head.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "catch.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kVocab = 37;  // two panels and a part of one

struct HeadData {
  size_t model, width;
  bool transforms;
  bool norms;
  MatrixData weight, transform;
  NormData norm;
  std::vector<float> bias;
  HeadOptions options;

  HeadData(Random& random, size_t model_dim, size_t table_width, bool with_transform, bool with_bias,
           float softcap, float scale = 1, bool with_norm = true)
      : model(with_transform ? model_dim : table_width),
        width(table_width),
        transforms(with_transform),
        norms(with_transform && with_norm),
        weight(random, kVocab, width, false),
        transform(random, with_transform ? width : 0, model_dim, true),
        norm(random, norms ? NormKind::kLayer : NormKind::kNone, width, false),
        bias(random.floats(with_bias ? kVocab : 0)),
        options{Activation::kGelu, scale, softcap} {}

  PackedMatrix packed() const {
    PackedMatrix matrix;
    REQUIRE(matrix.pack(WeightType::kFloat32, weight.weight.data(), kVocab, width, WeightType::kFloat32) ==
            Status::kOk);
    return matrix;
  }

  HeadParts parts(bool tied) const {
    HeadParts made;
    made.transform = transform.linear(WeightType::kFloat32);
    made.norm = norm.norm();
    if (!tied) made.weight = packed();
    if (!bias.empty()) {
      REQUIRE(made.bias.allocate(kVocab) == Status::kOk);
      std::copy(bias.begin(), bias.end(), made.bias.data());
    }
    return made;
  }

  Matrix expected(const std::vector<float>& x) const {
    Matrix t(x.begin(), x.end());
    if (transforms) t = naiveLinear(t, transform);
    if (norms) {
      for (double& v : t) v = naiveActivation(options.activation, v);
      t = naiveNorm(t, norm);
    }
    Matrix logits = naiveLinear(t, weight);
    for (size_t i = 0; i < logits.size(); ++i) {
      if (!bias.empty()) logits[i] += bias[i % kVocab];
      logits[i] *= options.scale;
      if (options.softcap > 0) logits[i] = options.softcap * std::tanh(logits[i] / options.softcap);
    }
    return logits;
  }
};

}  // namespace

TEST_CASE("A head gives W t + b, scaled and capped, with a weight of its own or the token table",
          "[models]") {
  Random random(1);
  for (const size_t width : {size_t{1}, size_t{12}, size_t{40}}) {
    for (int bits = 0; bits < 4; ++bits) {
      for (const float softcap : {0.0f, 0.5f, 30.0f}) {
        const float scale = bits == 3 ? 0.0625f : 1;
        const bool with_norm = softcap != 30.0f;
        const HeadData data(random, 20, width, (bits & 1) != 0, (bits & 2) != 0, softcap, scale, with_norm);
        const PackedMatrix table = data.packed();
        LogitsHead tied;
        LogitsHead own;
        REQUIRE(tied.create(data.options, data.parts(true), &table) == Status::kOk);
        REQUIRE(own.create(data.options, data.parts(false), &table) == Status::kOk);
        CHECK(own.bytes() == tied.bytes() + table.bytes());
        for (const size_t rows : {size_t{0}, size_t{1}, size_t{3}}) {
          const std::vector<float> x = random.floats(rows * data.model);
          std::vector<float> out(rows * kVocab, kNaN);
          std::vector<float> same(rows * kVocab, kNaN);
          REQUIRE(tied.apply(out.data(), x.data(), rows) == Status::kOk);
          REQUIRE(own.apply(same.data(), x.data(), rows) == Status::kOk);
          CHECK(sameBits(out, same));
          // A norm divides by the spread of few numbers.
          const double tolerance = 256 * static_cast<double>(width + 20) * kUnit;
          INFO("width " << width << ", parts " << bits << ", softcap " << softcap << ", rows " << rows);
          CHECK(errorShare(out, data.expected(x), tolerance) <= 1);
        }
        CHECK(tied.vocabSize() == kVocab);
      }
    }
  }
}

TEST_CASE("A head refuses parts that do not fit, and stays what it was", "[models]") {
  Random random(2);
  const HeadData data(random, 20, 12, true, true, 0);
  const HeadData other(random, 20, 13, true, true, 0);
  LogitsHead head;
  REQUIRE(head.create(data.options, data.parts(false), nullptr) == Status::kOk);
  const size_t bytes = head.bytes();
  const auto refused = [&](auto change) {
    HeadParts parts = data.parts(false);
    change(parts);
    CHECK(head.create(data.options, std::move(parts), nullptr) == Status::kInvalidShape);
    CHECK(head.bytes() == bytes);
  };
  refused([](HeadParts& p) { p.weight = PackedMatrix(); });  // and no table to share
  refused([&](HeadParts& p) { p.weight = other.packed(); });
  refused([&](HeadParts& p) { p.transform = other.parts(false).transform; });
  refused([&](HeadParts& p) { p.norm = other.norm.norm(); });
  refused([](HeadParts& p) { p.transform = Linear(); });  // a norm without what it norms
  refused([](HeadParts& p) { REQUIRE(p.bias.allocate(kVocab - 1) == Status::kOk); });
}

}  // namespace ropewalk::test
