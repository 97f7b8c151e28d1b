// Runs files of test vectors of the operation `train`: loss, gradients and parameters after some steps, in
// float within each case's tolerance, and in double.
//   ropewalk_training_vectors FILE...
// Prints one line per case and exits with 1 if one failed.
#include <cmath>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "training/json.h"
#include "training/trainer.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

[[noreturn]] void unsupported(const std::string& what) {
  throw std::runtime_error("not supported: " + what);
}

void expectKeys(const Json& object, std::initializer_list<const char*> known) {
  for (const std::string& key : object.keys) {
    bool found = false;
    for (const char* k : known) found = found || key == k;
    if (!found) unsupported("option " + key);
  }
}

template <class T>
struct Choice {
  const char* name;
  T value;
};

template <class T, size_t N>
T choose(const Json& name, const Choice<T> (&choices)[N], T otherwise) {
  if (name.isNull()) return otherwise;
  for (const auto& choice : choices) {
    if (name.text == choice.name) return choice.value;
  }
  unsupported(name.text);
}

constexpr Choice<PositionKind> kKinds[] = {{"none", PositionKind::kNone},
                                           {"sinusoidal", PositionKind::kSinusoidal},
                                           {"binary", PositionKind::kBinary},
                                           {"learned", PositionKind::kLearned},
                                           {"rope", PositionKind::kRope},
                                           {"alibi", PositionKind::kAlibi},
                                           {"t5", PositionKind::kT5},
                                           {"kerple", PositionKind::kKerple},
                                           {"shaw", PositionKind::kShaw},
                                           {"relative_key", PositionKind::kRelativeKey},
                                           {"relative_key_query", PositionKind::kRelativeKeyQuery},
                                           {"m3", PositionKind::kM3},
                                           {"pope", PositionKind::kPope},
                                           {"forget", PositionKind::kForget},
                                           {"fire", PositionKind::kFire},
                                           {"sandwich", PositionKind::kSandwich},
                                           {"transformer_xl", PositionKind::kTransformerXl},
                                           {"deberta", PositionKind::kDeberta},
                                           {"cope", PositionKind::kCope},
                                           {"rope_mixed", PositionKind::kRopeMixed},
                                           {"axial", PositionKind::kAxial}};
constexpr Choice<LearnedMode> kModes[] = {{"add", LearnedMode::kAdd},
                                          {"multiply", LearnedMode::kMultiply},
                                          {"concat", LearnedMode::kConcatenate},
                                          {"concatenate", LearnedMode::kConcatenate}};
constexpr Choice<Pairing> kPairings[] = {{"half", Pairing::kHalf}, {"interleaved", Pairing::kInterleaved}};
constexpr Choice<LinearRotation> kRotations[] = {{"none", LinearRotation::kNone},
                                                 {"numerator", LinearRotation::kNumerator},
                                                 {"both", LinearRotation::kBoth},
                                                 {"cosine", LinearRotation::kBoth}};

// `slopes` is where those of ALiBi are kept: where none are given, 2^(-8 h / H) for any H.
PositionOptions positionOf(const Json& encoding, const Json& inputs, size_t heads,
                           std::vector<double>* slopes) {
  expectKeys(encoding, {"kind", "length", "mode", "scale", "base", "pairing", "attention_factor", "trainable",
                        "slopes", "num_buckets", "max_distance", "max_rel", "max_positions"});
  PositionOptions position;
  position.kind = choose(encoding["kind"], kKinds, PositionKind::kNone);
  position.length =
      encoding["length"].isNull() ? encoding["max_positions"].size() : encoding["length"].size();
  position.mode = choose(encoding["mode"], kModes, LearnedMode::kAdd);
  if (position.mode == LearnedMode::kConcatenate)
    position.position_dim = inputs["parameters.positions"]["shape"].items.at(1).size();
  position.scale = encoding["scale"].numberOr(position.scale);
  position.base = position.frequencies.base = encoding["base"].numberOr(position.base);
  position.pairing = choose(encoding["pairing"], kPairings, Pairing::kHalf);
  position.attention_factor = encoding["attention_factor"].numberOr(0);
  position.trainable = encoding["trainable"].numberOr(0) != 0;
  for (const Json& slope : encoding["slopes"].items) slopes->push_back(slope.number);
  for (size_t h = slopes->size(); h < heads; ++h)
    slopes->push_back(std::exp2(-8 * static_cast<double>(h + 1) / static_cast<double>(heads)));
  position.slopes = slopes->data();
  position.num_buckets = static_cast<size_t>(encoding["num_buckets"].numberOr(32));
  position.max_distance = static_cast<int64_t>(encoding["max_distance"].numberOr(128));
  position.max_relative = static_cast<size_t>(encoding["max_rel"].numberOr(16));
  return position;
}

TrainerOptions optionsOf(const Json& params, const Json& inputs, std::vector<double>* slopes) {
  expectKeys(params, {"vocab", "model_dim", "heads", "layers", "hidden_dim", "causal", "attention",
                      "encoding", "eps", "optimizer", "steps"});
  TrainerOptions options;
  ModelOptions& model = options.model;
  model.vocab = params["vocab"].size();
  model.model_dim = params["model_dim"].size();
  model.heads = params["heads"].size();
  model.layers = params["layers"].size();
  model.hidden_dim = params["hidden_dim"].size();
  model.causal = params["causal"].number != 0;
  model.eps = params["eps"].number;
  const Json& attention = params["attention"];
  if (attention.kind == Json::Kind::kObject) {
    expectKeys(attention, {"linear"});
    model.attention = AttentionKind::kLinear;
    model.rotation = choose(attention["linear"], kRotations, LinearRotation::kNone);
    if (attention["linear"].text == "cosine") model.kernel = LinearKernel::kCosine;
  } else if (attention.text != "softmax") {
    unsupported("attention " + attention.text);
  }
  model.position = positionOf(params["encoding"], inputs, model.heads, slopes);
  const Json& optimizer = params["optimizer"];
  expectKeys(optimizer, {"lr", "betas", "eps", "weight_decay", "clip"});
  options.optimizer.lr = optimizer["lr"].number;
  options.optimizer.beta1 = optimizer["betas"].items.at(0).number;
  options.optimizer.beta2 = optimizer["betas"].items.at(1).number;
  options.optimizer.eps = optimizer["eps"].number;
  options.optimizer.weight_decay = optimizer["weight_decay"].number;
  options.optimizer.clip = optimizer["clip"].numberOr(0);
  return options;
}

template <class T>
std::vector<T> numbersOf(const Json& tensor) {
  std::vector<T> out;
  for (const Json& item : tensor["data"].items) {
    // Inputs are float32 numbers, written in decimal.
    out.push_back(
        static_cast<T>(tensor["dtype"].text == "f32" ? static_cast<float>(item.number) : item.number));
  }
  return out;
}

// What a case that expects an error asks for; any other exception is this program's.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The largest error as a share of the tolerance; above 1 where numbers are missing or NaN.
template <class T>
double shareOf(const Json& expected, const T* found, size_t n) {
  const std::vector<double> want = numbersOf<double>(expected);
  if (want.size() != n) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < n; ++i) {
    const double tolerance = expected["tol"].number + expected["rtol"].numberOr(0) * std::fabs(want[i]);
    const double error = std::fabs(static_cast<double>(found[i]) - want[i]);
    const double share = error == 0 ? 0 : error / tolerance;
    worst = share <= worst ? worst : std::isnan(share) ? INFINITY : share;
  }
  return worst;
}

template <class T>
struct VectorBatch {
  std::vector<int32_t> ids, targets;
  std::vector<T> weights;
  size_t batch, tokens;

  VectorBatch(const Json& inputs, const std::string& name)
      : ids(numbersOf<int32_t>(inputs[name + ".ids"])),
        targets(numbersOf<int32_t>(inputs[name + ".targets"])),
        weights(numbersOf<T>(inputs[name + ".weights"])),
        batch(inputs[name + ".ids"]["shape"].items.at(0).size()),
        tokens(inputs[name + ".ids"]["shape"].items.at(1).size()) {}

  Batch<T> view() const {
    return {{ids.data(), batch, tokens}, targets.data(), weights.empty() ? nullptr : weights.data()};
  }
};

// Answers the largest share of a tolerance, and adds to the number of outputs compared and of those that
// failed.
template <class T>
double runCase(const Json& test, size_t* compared, size_t* failed) {
  const Json& inputs = test["inputs"];
  const Json& outputs = test["outputs"];
  std::vector<double> slopes;
  Trainer<T> trainer;
  if (trainer.create(optionsOf(test["params"], inputs, &slopes)) != Status::kOk)
    throw Refused("the trainer refused the options");

  // Every parameter is given, and no others.
  size_t given = 0;
  for (const std::string& key : inputs.keys) {
    if (!key.starts_with("parameters.")) continue;
    const TensorView<T> view = trainer.parameter(key.substr(11));
    const std::vector<T> values = numbersOf<T>(inputs[key]);
    if (view.data == nullptr || view.shape.size() != values.size()) unsupported("parameter " + key);
    std::copy(values.begin(), values.end(), view.data);
    ++given;
  }
  if (given != trainer.layout().count()) throw std::runtime_error("a parameter is not given");

  double worst = 0;
  size_t found = 0;
  const auto compare = [&](const std::string& name, const T* data, size_t n) {
    if (outputs[name].isNull()) return;
    const double share = shareOf(outputs[name], data, n);
    worst = std::max(worst, share);
    ++found;
    if (share <= 1) return;
    ++*failed;
    std::printf("  %s: %s is off by %.2g tolerances\n", test["name"].text.c_str(), name.c_str(), share);
  };
  const auto compareAll = [&](const std::string& prefix, auto viewOf) {
    for (size_t i = 0; i < trainer.layout().count(); ++i) {
      const auto view = viewOf(trainer.layout()[i].name);
      compare(prefix + "." + trainer.layout()[i].name, view.data, view.shape.size());
    }
  };

  std::vector<VectorBatch<T>> batches;
  for (std::string name = "batch0"; !inputs[name + ".ids"].isNull();
       name = "batch" + std::to_string(batches.size())) {
    batches.emplace_back(inputs, name);
  }
  size_t last = 0;
  for (const Json& step : test["params"]["steps"].items) last = std::max(last, step.size());
  for (size_t s = 1; s <= last; ++s) {
    const StepResult result = trainer.step(batches.at((s - 1) % batches.size()).view());
    if (!result.made()) throw Refused("step " + std::to_string(s) + " was not made");
    if (s == 1) {
      const T numbers[] = {static_cast<T>(result.loss), static_cast<T>(result.gradient_norm)};
      compare("loss", &numbers[0], 1);
      compare("gradient_norm", &numbers[1], 1);
      compareAll("gradients", [&](const char* name) { return trainer.gradient(name); });
    }
    compareAll("step" + std::to_string(s), [&](const char* name) { return trainer.parameter(name); });
  }
  if (found != outputs.keys.size()) throw std::runtime_error("an output was not compared");
  *compared += found;
  return worst;
}

bool runNamed(const Json& test) {
  const char* const name = test["name"].text.c_str();
  const bool refused = test["expect"].text == "error";
  size_t compared = 0;
  size_t failed = 0;
  try {
    const double in_float = runCase<float>(test, &compared, &failed);
    const double in_double = runCase<double>(test, &compared, &failed);
    const bool passed = !refused && failed == 0;
    std::printf("%s %s: %zu passed, %zu failed; worst share of the tolerance %.2g in float, %.2g in double\n",
                passed ? "ok    " : "FAILED", name, compared - failed, failed, in_float, in_double);
    return passed;
  } catch (const Refused& error) {
    std::printf("%s %s: %s\n", refused ? "ok    " : "FAILED", name, error.what());
    return refused;
  } catch (const std::exception& error) {
    std::printf("FAILED %s: %s\n", name, error.what());
    return false;
  }
}

int run(int count, char** paths) {
  size_t passed = 0;
  size_t all = 0;
  for (int i = 0; i < count; ++i) {
    const Json file = JsonParser::ofFile(paths[i]);
    for (const Json& test : file["cases"].items) {
      if (test["op"].text != "train") continue;
      ++all;
      passed += runNamed(test) ? 1 : 0;
    }
  }
  std::printf("%zu of %zu cases passed\n", passed, all);
  return passed == all && all > 0 ? 0 : 1;
}

}  // namespace
}  // namespace ropewalk::test

int main(int argc, char** argv) {
  try {
    return ropewalk::test::run(argc - 1, argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
