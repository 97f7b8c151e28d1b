// Every choice that a trainer refuses, with the status that says why.
#include "training/options.h"

#include "catch.h"
#include "reference.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The status of a trainer of changed options; a refusal must leave the old trainer in place.
template <class Change>
Status statusOf(PositionKind kind, Change change) {
  TrainerOptions options = {smallModel(kind), {}, 1};
  change(options);
  Trainer<float> trainer = trainerOf<float>(smallModel(), 5);
  const std::vector<unsigned char> before = stateOf(trainer);
  const Status status = trainer.create(options);
  if (status != Status::kOk) CHECK(sameBits(stateOf(trainer), before));
  return status;
}

}  // namespace

TEST_CASE("Sizes that do not fit are refused", "[training]") {
  const auto status = [](auto change) {
    return statusOf(PositionKind::kRope, [&](TrainerOptions& o) { change(o.model); });
  };
  CHECK(status([](auto&) {}) == Status::kOk);
  CHECK(status([](auto& m) { m.vocab = 0; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.model_dim = 0; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.model_dim = 16386; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.model_dim = 9; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.heads = 0; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.heads = 3; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.heads = 8; }) == Status::kInvalidShape);  // a head of 1 has no pair
  CHECK(status([](auto& m) { m.layers = 0; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.layers = 1025; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.vocab = SIZE_MAX; }) == Status::kInvalidShape);
  CHECK(status([](auto& m) { m.hidden_dim = SIZE_MAX; }) == Status::kInvalidShape);
}

TEST_CASE("Choices of a model that do not exist or do not go together are refused", "[training]") {
  const auto status = [](auto change) {
    return statusOf(PositionKind::kAlibi, [&](TrainerOptions& o) { change(o.model); });
  };
  CHECK(status([](auto&) {}) == Status::kOk);
  CHECK(status([](auto& m) { m.norm = NormKind::kNone; }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.eps = 0; }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.eps = kInfinite; }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.activation = Activation::kRelu; }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.attention = AttentionKind::kLinear; }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.position.kind = static_cast<PositionKind>(21); }) == Status::kInvalidArgument);
  // Choices whose numbers have no name.
  CHECK(status([](auto& m) { m.attention = static_cast<AttentionKind>(2); }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.kernel = static_cast<LinearKernel>(5); }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.rotation = static_cast<LinearRotation>(-1); }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.position.mode = static_cast<LearnedMode>(3); }) == Status::kInvalidArgument);
  CHECK(status([](auto& m) { m.position.pairing = static_cast<Pairing>(2); }) == Status::kInvalidArgument);
  const double slopes[] = {1, kInfinite};
  CHECK(status([&](auto& m) { m.position.slopes = slopes; }) == Status::kInvalidArgument);
  CHECK(statusOf(PositionKind::kNone, [](auto& o) {
          o.model.attention = AttentionKind::kLinear;
          o.model.kernel = LinearKernel::kProduct;
        }) == Status::kInvalidArgument);
}

TEST_CASE("Options of an encoding out of range are refused", "[training]") {
  const auto status = [](PositionKind kind, auto change) {
    return statusOf(kind, [&](TrainerOptions& o) { change(o.model.position); });
  };
  using Kind = PositionKind;
  for (const Kind kind :
       {Kind::kLearned, Kind::kBinary, Kind::kRelativeKey, Kind::kRelativeKeyQuery, Kind::kM3, Kind::kCope}) {
    CHECK(status(kind, [](auto& p) { p.length = 0; }) == Status::kInvalidShape);
    CHECK(status(kind, [](auto& p) { p.length = SIZE_MAX; }) == Status::kInvalidShape);
  }
  for (const size_t dim : {size_t{0}, size_t{8}}) {
    CHECK(status(Kind::kLearned, [&](auto& p) {
            p.mode = LearnedMode::kConcatenate;
            p.position_dim = dim;
          }) == Status::kInvalidShape);
  }
  CHECK(status(Kind::kBinary, [](auto& p) {
          p.mode = LearnedMode::kConcatenate;
          p.position_dim = 3;  // 9 positions need 4 bits
        }) == Status::kInvalidShape);
  CHECK(status(Kind::kSinusoidal, [](auto& p) { p.mode = LearnedMode::kMultiply; }) ==
        Status::kInvalidArgument);
  CHECK(status(Kind::kSinusoidal, [](auto& p) { p.base = 0; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kSinusoidal, [](auto& p) { p.scale = kInfinite; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kPope, [](auto& p) { p.base = -1; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kTransformerXl, [](auto& p) { p.base = 0; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kRope, [](auto& p) { p.attention_factor = -1; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kRope, [](auto& p) { p.frequencies.dim = 6; }) == Status::kInvalidShape);
  CHECK(status(Kind::kRope, [](auto& p) { p.frequencies.dim = 4; }) == Status::kOk);  // the whole head
  CHECK(status(Kind::kRope, [](auto& p) { p.frequencies.dim = 3; }) == Status::kInvalidShape);
  CHECK(status(Kind::kRope, [](auto& p) { p.frequencies.base = 0; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kT5, [](auto& p) { p.num_buckets = 0; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kT5, [](auto& p) { p.num_buckets = SIZE_MAX; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kT5, [](auto& p) { p.max_distance = 1; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kShaw, [](auto& p) { p.max_relative = SIZE_MAX; }) == Status::kInvalidShape);
  CHECK(status(Kind::kShaw, [](auto& p) { p.max_relative = 0; }) == Status::kOk);
  CHECK(status(Kind::kFire, [](auto& p) { p.width = 0; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kFire, [](auto& p) { p.width = SIZE_MAX; }) == Status::kInvalidShape);
  CHECK(status(Kind::kFire, [](auto& p) { p.threshold = 0; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kRopeMixed, [](auto& p) { p.base = 0; }) == Status::kInvalidArgument);
  for (const Kind kind : {Kind::kRopeMixed, Kind::kAxial}) {
    CHECK(status(kind, [](auto& p) { p.columns = 0; }) == Status::kInvalidShape);
    CHECK(status(kind, [](auto& p) { p.columns = SIZE_MAX; }) == Status::kInvalidShape);
  }
  CHECK(status(Kind::kAxial, [](auto& p) { p.length = 0; }) == Status::kInvalidShape);
  CHECK(statusOf(Kind::kRopeMixed, [](auto& o) { o.model.heads = 8; }) == Status::kInvalidShape);
  CHECK(status(Kind::kDeberta, [](auto& p) { p.max_relative = 0; }) == Status::kInvalidShape);
  CHECK(status(Kind::kDeberta, [](auto& p) { p.max_relative = SIZE_MAX; }) == Status::kInvalidShape);
  CHECK(status(Kind::kDeberta, [](auto& p) { p.max_distance = 2; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kDeberta, [](auto& p) { p.max_distance = 3; }) == Status::kOk);
  CHECK(status(Kind::kDeberta, [](auto& p) { p.max_relative = 1; }) == Status::kInvalidArgument);
  CHECK(status(Kind::kDeberta, [](auto& p) {
          p.max_relative = 1;
          p.max_distance = 0;
        }) == Status::kOk);
  CHECK(status(Kind::kSandwich, [](auto& p) { p.width = 0; }) == Status::kInvalidShape);
  CHECK(status(Kind::kSandwich, [](auto& p) { p.width = 5; }) == Status::kInvalidShape);
  CHECK(status(Kind::kSandwich, [](auto& p) { p.width = SIZE_MAX; }) == Status::kInvalidShape);
  CHECK(status(Kind::kSandwich, [](auto& p) { p.base = 0; }) == Status::kInvalidArgument);
  CHECK(statusOf(Kind::kForget, [](auto& o) { o.model.causal = false; }) == Status::kInvalidArgument);
  // Other encodings do not read what is refused here.
  CHECK(status(Kind::kNone, [](auto& p) {
          p.mode = LearnedMode::kConcatenate;
          p.base = p.scale = kInfinite;
        }) == Status::kOk);
}

TEST_CASE("The largest sizes are taken, the next ones refused", "[training]") {
  using Kind = PositionKind;
  constexpr size_t kMost = size_t{1} << 24;
  const struct {
    const char* name;
    Kind kind;
    size_t most;
    void (*set)(ModelOptions&, size_t);
    Status refusal = Status::kInvalidShape;
  } kLimits[] = {
      {"vocab", Kind::kNone, kMost, [](ModelOptions& m, size_t n) { m.vocab = n; }},
      {"hidden_dim", Kind::kNone, kMost, [](ModelOptions& m, size_t n) { m.hidden_dim = n; }},
      {"model_dim", Kind::kNone, 16384, [](ModelOptions& m, size_t n) { m.model_dim = m.heads = n; }},
      {"learned", Kind::kLearned, kMost, [](ModelOptions& m, size_t n) { m.position.length = n; }},
      {"relative", Kind::kM3, kMost, [](ModelOptions& m, size_t n) { m.position.length = n; }},
      {"shaw", Kind::kShaw, kMost - 1, [](ModelOptions& m, size_t n) { m.position.max_relative = n; }},
      {"cope", Kind::kCope, 1 << 20, [](ModelOptions& m, size_t n) { m.position.length = n; }},
      {"fire", Kind::kFire, 4096, [](ModelOptions& m, size_t n) { m.position.width = n; }},
      {"t5", Kind::kT5, 4096, [](ModelOptions& m, size_t n) { m.position.num_buckets = n; },
       Status::kInvalidArgument},
  };
  for (const auto& [name, kind, most, set, refusal] : kLimits) {
    INFO(name);
    ModelOptions model = smallModel(kind);
    set(model, most);
    CHECK(check(model) == Status::kOk);
    set(model, most + 1);
    CHECK(check(model) == refusal);
  }
  ModelOptions deep = smallModel();
  ParameterLayout layout;
  deep.layers = 1024;
  CHECK(layout.create(deep) == Status::kOk);
  CHECK(layout.find("layers.1023.output") != nullptr);
}

TEST_CASE("The optimizer is torch.optim.AdamW with its defaults unless it is told", "[training]") {
  const OptimizerOptions options;
  CHECK(options.kind == OptimizerKind::kAdamW);
  CHECK(options.lr == 1e-3);
  CHECK(options.beta1 == 0.9);
  CHECK(options.beta2 == 0.999);
  CHECK(options.eps == 1e-8);
  CHECK(options.weight_decay == 1e-2);
}

TEST_CASE("Options of an optimizer out of range are refused", "[training]") {
  const auto status = [](auto change) {
    return statusOf(PositionKind::kNone, [&](TrainerOptions& o) { change(o.optimizer); });
  };
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, kInfinite, kNone}) {
    CHECK(status([&](auto& o) { o.lr = bad; }) == Status::kInvalidArgument);
    CHECK(status([&](auto& o) { o.beta1 = bad; }) == Status::kInvalidArgument);
    CHECK(status([&](auto& o) { o.beta2 = bad; }) == Status::kInvalidArgument);
    CHECK(status([&](auto& o) { o.eps = bad; }) == Status::kInvalidArgument);
    CHECK(status([&](auto& o) { o.weight_decay = bad; }) == Status::kInvalidArgument);
    CHECK(status([&](auto& o) { o.clip = bad; }) == Status::kInvalidArgument);
    CHECK(status([&](auto& o) { o.final_share = bad; }) == Status::kInvalidArgument);
  }
  CHECK(status([](auto& o) { o.beta1 = 1; }) == Status::kInvalidArgument);
  CHECK(status([](auto& o) { o.beta2 = 1; }) == Status::kInvalidArgument);
  CHECK(status([](auto& o) { o.kind = static_cast<OptimizerKind>(2); }) == Status::kInvalidArgument);
  CHECK(status([](auto& o) {
          o.warmup = 11;
          o.total_steps = 10;
        }) == Status::kInvalidArgument);
  CHECK(status([](auto& o) { o.lr = o.clip = o.weight_decay = 0; }) == Status::kOk);
  CHECK(statusOf(PositionKind::kNone, [](auto& o) { o.seed = uint64_t{1} << 53; }) ==
        Status::kInvalidArgument);
}

}  // namespace ropewalk::test
