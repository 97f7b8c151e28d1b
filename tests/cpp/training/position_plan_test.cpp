// The vectors of positions that are no parameters.
#include "training/position_plan.h"

#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/model_memory.h"
#include "training/trainer_data.h"

namespace ropewalk::test {

using namespace ropewalk::training;

TEST_CASE("Vectors of positions are bits, or sines and cosines in turn", "[training]") {
  constexpr size_t kTokens = 7;
  for (const PositionKind kind : {PositionKind::kBinary, PositionKind::kSinusoidal}) {
    for (const size_t length : {size_t{8}, size_t{9}}) {  // 3 bits, and 4
      ModelOptions model = smallModel(kind);
      model.position.length = length;
      model.position.scale = 0.5;
      PositionPlan<double> plan;
      REQUIRE(plan.create(model) == Status::kOk);
      REQUIRE(plan.prepare(kTokens) == Status::kOk);
      REQUIRE(plan.vectors() != nullptr);
      const size_t bits = length == 8 ? 3 : 4;
      Worst worst;
      for (size_t t = 0; t < kTokens; ++t) {
        for (size_t c = 0; c < model.model_dim; ++c) {
          const double angle = static_cast<double>(t) * std::pow(100, -static_cast<double>(c / 2) / 4);
          const double wave = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
          const double bit = c >= bits ? 0 : (t >> c & 1) != 0 ? 1 : -1;
          const double expected = 0.5 * (kind == PositionKind::kBinary ? bit : wave);
          worst.add(plan.vectors()[t * model.model_dim + c], expected, 0x1p-24);
        }
      }
      CHECK(worst.share() <= (kind == PositionKind::kBinary ? 0 : 1));
    }
  }
}

TEST_CASE("Attention weights are kept up to as many tokens as a model says", "[training]") {
  for (const PositionKind kind : {PositionKind::kNone, PositionKind::kFire}) {
    ModelOptions model = smallModel(kind);
    model.kept_tokens = 5;
    PositionPlan<float> plan;
    REQUIRE(plan.create(model) == Status::kOk);
    for (const size_t tokens : {size_t{5}, size_t{6}, size_t{4}}) {
      REQUIRE(plan.prepare(tokens) == Status::kOk);
      CAPTURE(tokens);
      CHECK(plan.keepsWeights() == (tokens <= 5));
      CHECK(plan.firesByBlock() == (kind == PositionKind::kFire && tokens > 5));
      CHECK(plan.hasBias() == (kind == PositionKind::kFire && tokens <= 5));
    }
  }
}

TEST_CASE("Sizes whose products no memory holds are refused", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kNone);
  PositionPlan<float> plan;
  REQUIRE(plan.create(model) == Status::kOk);
  ModelMemory<float> memory;
  REQUIRE(memory.prepare(model, plan, 2, 5, Purpose::kTrain) == Status::kOk);
  for (const size_t batch : {SIZE_MAX, SIZE_MAX / model.heads, SIZE_MAX / model.heads / 5, SIZE_MAX / 4096}) {
    CAPTURE(batch);
    CHECK(memory.prepare(model, plan, batch, 5, Purpose::kTrain) == Status::kOutOfMemory);
  }
  CHECK(memory.prepare(model, plan, 1, kMostTokens + 1, Purpose::kTrain) == Status::kInvalidShape);
}

TEST_CASE("A grid is as large as it is, whether size_t holds its places or not", "[training]") {
  ModelOptions model = smallModel(PositionKind::kAxial);
  const auto prepared = [&](size_t rows, size_t columns, size_t tokens) {
    model.position.length = rows;
    model.position.columns = columns;
    PositionPlan<float> plan;
    REQUIRE(plan.create(model) == Status::kOk);
    return plan.prepare(tokens);
  };
  CHECK(prepared(3, 4, 12) == Status::kOk);
  CHECK(prepared(3, 4, 13) == Status::kPositionOutOfRange);
  CHECK(prepared(4096, size_t{1} << 20, 5) == Status::kOk);  // 2^32
  CHECK(prepared(size_t{1} << 24, size_t{1} << 24, 5) == Status::kOk);
}

TEST_CASE("Heads have a table of keys by distance, and of queries where the vectors are learned",
          "[training]") {
  for (const PositionKind kind :
       {PositionKind::kTransformerXl, PositionKind::kDeberta, PositionKind::kShaw, PositionKind::kNone}) {
    PositionPlan<float> plan;
    REQUIRE(plan.create(smallModel(kind)) == Status::kOk);
    const bool learned = kind == PositionKind::kDeberta;
    CHECK(plan.hasHeadTables() == (learned || kind == PositionKind::kTransformerXl));
    if (plan.hasHeadTables()) CHECK(plan.headTables() == (learned ? 2 : 1));
    if (plan.hasHeadTables()) CHECK(plan.scoreTerms() == (learned ? 3 : 1));
  }
}

TEST_CASE("Heads of odd size are no matter where nothing is turned", "[training]") {
  using Kind = PositionKind;
  for (const Kind kind :
       {Kind::kNone, Kind::kSinusoidal, Kind::kBinary, Kind::kLearned, Kind::kAlibi, Kind::kT5, Kind::kKerple,
        Kind::kShaw, Kind::kRelativeKey, Kind::kM3, Kind::kForget, Kind::kFire, Kind::kSandwich,
        Kind::kTransformerXl, Kind::kDeberta, Kind::kCope, Kind::kAxial}) {
    ModelOptions model = smallModel(kind);
    model.model_dim = 6;
    PositionPlan<float> plan;
    CHECK(plan.create(model) == Status::kOk);
    CHECK(plan.hasRelative() == (kind == Kind::kShaw || kind == Kind::kRelativeKey || kind == Kind::kM3));
  }
}

}  // namespace ropewalk::test
