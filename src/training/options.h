// What is trained and how: a transformer decoder or encoder of one kind of layer, its encoding of positions,
// and the optimizer.
//   h = embedding[ids] and positions; each layer h += A(norm h), h += F(norm h); logits = (norm h)
//   unembedding^T
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/linear_features.h"
#include "encodings/learned.h"
#include "encodings/rope.h"
#include "encodings/t5.h"
#include "kernels/activation.h"
#include "layers/norm_layer.h"
#include "status.h"
#include "training/linear_attention.h"

namespace ropewalk::training {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class PositionKind : int {
  kNone = 0,
  kSinusoidal = 1,         // fixed vectors
  kBinary = 2,             // fixed vectors: the bits as -1 and 1, then zeros
  kLearned = 3,            // a table
  kRope = 4,               // queries and keys turned, or the features of linear attention
  kAlibi = 5,              // -slope |j - i|
  kT5 = 6,                 // a number for each bucket of distances and head
  kKerple = 7,             // -r1 ln(1 + r2 |j - i|)
  kShaw = 8,               // tables for keys and values, j - i clipped
  kRelativeKey = 9,        // BERT: a table for keys, i - j
  kRelativeKeyQuery = 10,  // BERT: the same for keys and queries
  kM3 = 11,                // a factor for each coordinate, i - j
  kPope = 12,              // magnitudes by softplus, angles by position
  kForget = 13,            // FoX: gates that forget; causal only
  kFire = 14,              // a network of ln(1 + c |j - i|) / ln(1 + c max(L, i))
  kSandwich = 15,          // products of sinusoidal vectors, 8 (h + 1) / H times smaller
  kTransformerXl = 16,     // mapped sinusoidal vectors of i - j, and two biases of queries
  kDeberta = 17,           // learned vectors by i - j, mapped as queries and keys are
  kCope = 18,              // a table by how many keys count, by gates
  kRopeMixed = 19,         // queries and keys of a grid turned by learned frequencies
  kAxial = 20              // vectors with tokens: a table for rows of a grid and one for columns, added
};

struct PositionOptions {
  PositionKind kind = PositionKind::kNone;
  // kLearned, kBinary, kRelativeKey, kRelativeKeyQuery, kM3: tokens of the longest sequence; kCope: rows of
  // the table; kAxial: rows of the grid.
  size_t length = 0;
  LearnedMode mode = LearnedMode::kAdd;  // of vectors with tokens; kMultiply for kLearned only
  size_t position_dim = 0;               // kConcatenate: how many of model_dim are the position's
  double scale = 1;                      // kSinusoidal, kBinary: of the vectors
  double base = 10000;                   // kSinusoidal, kPope, kSandwich, kTransformerXl, kRopeMixed
  FrequencyOptions frequencies;          // kRope; its dim 0: the whole head
  Pairing pairing = Pairing::kHalf;      // kRope, kRopeMixed
  double attention_factor = 0;           // kRope: of cos and sin; 0: as the frequencies have it
  bool trainable = false;                // kAlibi: slopes are parameters
  // kAlibi: [heads], read when a trainer is made; null: the paper's, which interleaves two sequences where
  // heads are no power of two.
  const double* slopes = nullptr;
  size_t num_buckets = 32;     // kT5: in both directions unless causal
  int64_t max_distance = 128;  // kT5; kDeberta: where buckets end, 0: each distance has its row
  // kShaw: the largest distance with a row of its own; kDeberta: half of the rows.
  size_t max_relative = 16;
  size_t width = 32;  // kFire: W, of the hidden layer; kSandwich: of the vectors, even
  size_t columns =
      0;  // kRopeMixed, kAxial: of the grid; token t stands at row t / columns, column t % columns
  double threshold = 512;  // kFire: L, times the parameter fire.threshold_factor, which begins as 1

  bool hasVectors() const { return kind >= PositionKind::kSinusoidal && kind <= PositionKind::kLearned; }
};

enum class AttentionKind : int { kSoftmax = 0, kLinear = 1 };

struct ModelOptions {
  size_t vocab = 0;      // V
  size_t model_dim = 0;  // d
  size_t heads = 0;      // H, a divisor of d
  size_t layers = 0;
  size_t hidden_dim = 0;  // of the feed-forward part; 0: none
  bool causal = true;
  NormKind norm = NormKind::kRms;             // or kLayer
  double eps = 1e-6;                          // of the norms
  Activation activation = Activation::kGelu;  // or kSilu
  AttentionKind attention = AttentionKind::kSoftmax;
  LinearKernel kernel = LinearKernel::kElu1;  // kLinear: all but kProduct
  LinearRotation rotation =
      LinearRotation::kNone;  // kLinear with kRope, which kNone leaves without positions
  PositionOptions position;
  // Tokens of the longest sequences whose attention weights a step keeps, B H T^2 numbers of each layer.
  // Those of longer ones are computed again in the backward pass.
  size_t kept_tokens = 256;

  size_t headDim() const { return model_dim / heads; }
  bool concatenates() const { return position.hasVectors() && position.mode == LearnedMode::kConcatenate; }
  // Columns of the token table, and of the positions' vectors.
  size_t tokenDim() const { return concatenates() ? model_dim - position.position_dim : model_dim; }
  size_t positionDim() const { return concatenates() ? position.position_dim : model_dim; }
};

enum class OptimizerKind : int {
  kAdamW = 0,  // Loshchilov and Hutter, arXiv:1711.05101, as torch.optim.AdamW has it
  kSgd = 1     // with momentum: m = momentum m + g, p -= lr m
};

// The learning rate rises over `warmup` steps to lr, then falls by a cosine to final_share lr at step
// total_steps, and stays there; total_steps 0: it stays at lr.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double lr = 1e-3;
  double beta1 = 0.9;  // the momentum of kSgd
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // p -= lr weight_decay p first, of matrices that are no tables
  double clip = 1;             // largest norm of all gradients together; 0: any
  uint64_t warmup = 0;
  uint64_t total_steps = 0;
  double final_share = 0.05;
};

struct TrainerOptions {
  ModelOptions model;
  OptimizerOptions optimizer;
  uint64_t seed = 0;  // below 2^53
};

// kInvalidShape: sizes that are 0 or do not fit each other; kInvalidArgument: a choice that does not exist,
// does not go with another, or a number out of range.
Status check(const ModelOptions& options);
Status check(const OptimizerOptions& options);

}  // namespace ropewalk::training
