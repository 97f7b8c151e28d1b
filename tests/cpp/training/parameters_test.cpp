// Which parameters a model has, in which order, and how they begin.
#include "training/parameters.h"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

struct Expected {
  std::string name;
  ParameterShape shape;
  Start start;
  bool decays = false;
};

// Of models with a width of 8, 2 heads, 2 layers.
constexpr double kInputs = 0.35355339059327373;  // 1 / sqrt(8)
constexpr Start kOnes = {1, 0};
constexpr Start kZeros = {0, 0};

void checkLayout(const ModelOptions& model, const std::vector<Expected>& expected) {
  ParameterLayout layout;
  REQUIRE(layout.create(model) == Status::kOk);
  REQUIRE(layout.count() == expected.size());
  size_t offset = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Expected& e = expected[i];
    INFO(e.name);
    CHECK(layout[i].name == e.name);
    CHECK(layout[i].shape.rows == e.shape.rows);
    CHECK(layout[i].shape.columns == e.shape.columns);
    CHECK(layout[i].start.mean == e.start.mean);
    CHECK(std::fabs(layout[i].start.deviation - e.start.deviation) <= 1e-15);
    CHECK(layout[i].decays == e.decays);
    CHECK(layout[i].offset == offset);
    const size_t size = e.shape.rows * std::max<size_t>(e.shape.columns, 1);
    CHECK(layout[i].shape.size() == size);
    offset += size;
  }
  CHECK(layout.size() == offset);
}

// With what an encoding adds to the model and to each layer, and a table of tokens so wide.
std::vector<Expected> around(const std::vector<Expected>& shared, const std::vector<Expected>& of_layer,
                             size_t token_dim = 8) {
  std::vector<Expected> all = {{"embedding", {5, token_dim}, {0, 0.5}}};
  all.insert(all.end(), shared.begin(), shared.end());
  for (const char* prefix : {"layers.0.", "layers.1."}) {
    const auto add = [&](Expected e) {
      e.name = prefix + e.name;
      all.push_back(e);
    };
    add({"attention_norm", {8, 0}, kOnes});
    for (const char* name : {"query", "key", "value"}) add({name, {8, 8}, {0, kInputs}, true});
    add({"output", {8, 8}, {0, kInputs / 2}, true});
    for (const Expected& e : of_layer) add(e);
  }
  all.push_back({"final_norm", {8, 0}, kOnes});
  all.push_back({"unembedding", {5, 8}, {0, 0.5 * kInputs}, true});
  return all;
}

}  // namespace

TEST_CASE("Every encoding adds its parameters, and no others", "[training]") {
  using Kind = PositionKind;
  const auto check = [](Kind kind, const std::vector<Expected>& shared,
                        const std::vector<Expected>& of_layer) {
    INFO(static_cast<int>(kind));
    checkLayout(smallModel(kind), around(shared, of_layer));
  };
  for (const Kind kind :
       {Kind::kNone, Kind::kSinusoidal, Kind::kBinary, Kind::kRope, Kind::kAlibi, Kind::kSandwich})
    check(kind, {}, {});
  check(Kind::kLearned, {{"positions", {9, 8}, {0, 0.1}}}, {});
  check(Kind::kT5, {{"t5", {6, 2}, kZeros}}, {});
  check(Kind::kKerple, {{"kerple.r1", {2, 0}, kOnes}, {"kerple.r2", {2, 0}, kOnes}}, {});
  check(Kind::kFire,
        {{"fire.c", {1, 0}, {0.1, 0}},
         {"fire.threshold_factor", {1, 0}, kOnes},
         {"fire.hidden_weights", {4, 0}, {0, 0.5}},
         {"fire.hidden_bias", {4, 0}, {0, 0.5}},
         {"fire.out_weights", {2, 4}, {0, 0.5}},
         {"fire.out_bias", {2, 0}, kZeros}},
        {});
  check(Kind::kShaw, {}, {{"relative_keys", {5, 4}, {0, 0.1}}, {"relative_values", {5, 4}, {0, 0.02}}});
  check(Kind::kRelativeKey, {}, {{"relative", {17, 4}, {0, 0.1}}});
  check(Kind::kRelativeKeyQuery, {}, {{"relative", {17, 4}, {0, 0.1}}});
  check(Kind::kM3, {}, {{"relative", {17, 4}, {1, 0.1}}});
  check(Kind::kPope, {}, {{"phases", {2, 4}, kZeros}});
  check(Kind::kAxial, {{"axial.rows", {9, 8}, {0, 0.1}}, {"axial.columns", {3, 8}, {0, 0.1}}}, {});
  check(Kind::kRopeMixed, {}, {{"frequencies_x", {2, 2}, {0, 1}}, {"frequencies_y", {2, 2}, {0, 1}}});
  check(Kind::kCope, {}, {{"cope", {9, 4}, kZeros}});
  check(Kind::kDeberta, {{"relative_embeddings", {4, 8}, {0, 0.1}}}, {});
  check(Kind::kTransformerXl, {},
        {{"relative_projection", {8, 8}, {0, kInputs}, true},
         {"content_bias", {2, 4}, kZeros},
         {"position_bias", {2, 4}, kZeros}});
  check(Kind::kForget, {}, {{"forget", {2, 8}, {0, 0.02}, true}, {"forget_bias", {2, 0}, kZeros}});

  ModelOptions model = smallModel(Kind::kAlibi);
  model.position.trainable = true;
  checkLayout(model, around({{"alibi.slopes", {2, 0}, kZeros}}, {}));
  model = smallModel(Kind::kLearned);
  model.position.mode = LearnedMode::kMultiply;
  checkLayout(model, around({{"positions", {9, 8}, {1, 0.1}}}, {}));
  model.position.mode = LearnedMode::kConcatenate;
  model.position.position_dim = 3;
  checkLayout(model, around({{"positions", {9, 3}, {0, 0.1}}}, {}, 5));
}

TEST_CASE("Layouts whose shapes are the same differ by their names", "[training]") {
  ModelOptions learned = smallModel(PositionKind::kLearned);
  learned.position.length = learned.position.num_buckets;
  ModelOptions t5 = smallModel(PositionKind::kT5);
  t5.heads = t5.model_dim;
  ParameterLayout one;
  ParameterLayout other;
  REQUIRE(one.create(learned) == Status::kOk);
  REQUIRE(other.create(t5) == Status::kOk);
  REQUIRE(one.count() == other.count());
  for (size_t i = 0; i < one.count(); ++i) {
    REQUIRE(one[i].shape.rows == other[i].shape.rows);
    REQUIRE(one[i].shape.columns == other[i].shape.columns);
  }
  CHECK(one.fingerprint() != other.fingerprint());
}

TEST_CASE("Parameters begin with the numbers of their seed and their name", "[training]") {
  // By a program of its own: 12 numbers of SplitMix64 each, whose seed is the checksum of 1 and the name
  // in its 40 bytes.
  constexpr struct {
    size_t at;
    double value;
  } kExpected[] = {{0, -0.2791665196418762}, {1, 0.6092181503772736},    {2, -0.22000795602798462},
                   {3, 0.21714380383491516}, {64, -0.25167107582092285}, {65, -0.5301695168018341}};
  ModelOptions model = smallModel();
  model.vocab = 9;  // 72 numbers
  Trainer<double> trainer = trainerOf<double>(model, 1);
  for (const auto& [at, value] : kExpected) CHECK(trainer.parameter("embedding").data[at] == value);
}

TEST_CASE("A layer with layer norms and a feed-forward part has their parameters", "[training]") {
  ModelOptions model = smallModel();
  model.layers = 1;
  model.hidden_dim = 6;
  model.norm = NormKind::kLayer;
  const double depth = std::sqrt(2.0);
  checkLayout(model, {{"embedding", {5, 8}, {0, 0.5}},
                      {"layers.0.attention_norm", {8, 0}, kOnes},
                      {"layers.0.attention_norm_bias", {8, 0}, kZeros},
                      {"layers.0.query", {8, 8}, {0, kInputs}, true},
                      {"layers.0.key", {8, 8}, {0, kInputs}, true},
                      {"layers.0.value", {8, 8}, {0, kInputs}, true},
                      {"layers.0.output", {8, 8}, {0, kInputs / depth}, true},
                      {"layers.0.feed_forward_norm", {8, 0}, kOnes},
                      {"layers.0.feed_forward_norm_bias", {8, 0}, kZeros},
                      {"layers.0.up", {6, 8}, {0, kInputs}, true},
                      {"layers.0.down", {8, 6}, {0, 1 / std::sqrt(6.0) / depth}, true},
                      {"final_norm", {8, 0}, kOnes},
                      {"final_norm_bias", {8, 0}, kZeros},
                      {"unembedding", {5, 8}, {0, 0.5 * kInputs}, true}});
}

}  // namespace ropewalk::test
