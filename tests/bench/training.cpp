// Steps of the trainer per second of processor time, for models of the sizes that experiments in a page have.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "training/trainer.h"

namespace {

using namespace ropewalk::training;
using ropewalk::Status;

struct Experiment {
  const char* name;
  size_t vocab, model_dim, heads, layers, hidden_dim, batch, tokens;
  bool causal;
  AttentionKind attention;
  PositionKind position;
};

constexpr Experiment kExperiments[] = {
    {"order, bidirectional, RoPE", 16, 32, 2, 1, 0, 32, 32, false, AttentionKind::kSoftmax,
     PositionKind::kRope},
    {"induction, RoPE", 32, 32, 2, 2, 0, 32, 48, true, AttentionKind::kSoftmax, PositionKind::kRope},
    {"length, RoPE", 16, 32, 4, 2, 0, 32, 32, true, AttentionKind::kSoftmax, PositionKind::kRope},
    {"length, Shaw", 16, 32, 4, 2, 0, 32, 32, true, AttentionKind::kSoftmax, PositionKind::kShaw},
    {"length, T5", 16, 32, 4, 2, 0, 32, 32, true, AttentionKind::kSoftmax, PositionKind::kT5},
    {"linear attention, RoPE", 16, 32, 2, 2, 0, 32, 32, true, AttentionKind::kLinear, PositionKind::kRope},
    {"text, RoPE", 64, 64, 4, 2, 256, 16, 64, true, AttentionKind::kSoftmax, PositionKind::kRope}};

// Steps per second in the quickest of five rounds; 0 where a step was not made.
double stepsPerSecond(const Experiment& experiment) {
  TrainerOptions options;
  ModelOptions& model = options.model;
  model.vocab = experiment.vocab;
  model.model_dim = experiment.model_dim;
  model.heads = experiment.heads;
  model.layers = experiment.layers;
  model.hidden_dim = experiment.hidden_dim;
  model.causal = experiment.causal;
  model.attention = experiment.attention;
  model.rotation = LinearRotation::kNumerator;
  model.position.kind = experiment.position;
  Trainer<float> trainer;
  if (trainer.create(options) != Status::kOk) return 0;
  std::vector<int32_t> ids(experiment.batch * experiment.tokens);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>((i * i + i / 7) % experiment.vocab);
  const Batch<float> batch = {{ids.data(), experiment.batch, experiment.tokens}, ids.data(), nullptr};
  if (!trainer.step(batch).made()) return 0;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t start = std::clock();
    double passed = 0;
    size_t steps = 0;
    for (; passed < 0.5; ++steps) {
      if (!trainer.step(batch).made()) return 0;
      passed = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    }
    best = std::max(best, static_cast<double>(steps) / passed);
  }
  return best;
}

}  // namespace

// bench_training [PART OF A NAME]
int main(int argc, char** argv) {
  for (const Experiment& experiment : kExperiments) {
    if (argc > 1 && std::strstr(experiment.name, argv[1]) == nullptr) continue;
    std::printf("%-28s %8.1f steps/s\n", experiment.name, stepsPerSecond(experiment));
  }
  return EXIT_SUCCESS;
}
