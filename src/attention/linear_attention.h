// Linear attention: out_i = sum_j w_ij v_j / sum_j w_ij, where w_ij is a product of features, so that the
// keys seen so far are a sum of fixed size and no list. Katharopoulos et al., arXiv:2006.16236; with RoPE in
// the numerator only or in both sums: Su et al., arXiv:2104.09864, equation 19. What gates and corrects the
// sum is in linear_recurrence.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/linear_features.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

struct LinearAttentionOptions {
  LinearKernel kernel = LinearKernel::kElu1;
  bool normalize = true;           // divide; else the numerators are given as they are, times scale
  bool rotate_normalizer = false;  // RoPE turns the features of the denominator as well
  float scale = 1;
};

struct LinearStateShape {
  size_t batch = 0;      // B
  size_t kv_heads = 0;   // G
  size_t head_dim = 0;   // D
  size_t value_dim = 0;  // Dv
};

// The queries and keys of one call. Query i has the position of key i + Tk - Tq.
struct LinearAttentionInput {
  HeadView<const float> q;  // [B, H, Tq, D]; G divides H and query head h reads key head h / (H / G)
  HeadView<const float> k;  // [B, G, Tk, D]
  HeadView<const float> v;  // [B, G, Tk, Dv]
  RopePlan* rope = nullptr;
  Positions query_positions;
  Positions key_positions;
  const uint8_t* keep = nullptr;  // 0 leaves a key out of every sum, unread; null keeps all
  size_t keep_batch_stride = 0;   // Tk for [B, Tk], 0 for [Tk]
  size_t keep_key_stride = 1;
};

struct DenominatorReport {
  double minimum = 0;     // of |denominator|, NaN left out; infinity where there is none
  size_t negative = 0;    // rows
  size_t zero = 0;        // rows
  size_t non_finite = 0;  // rows, infinite or NaN
};

// Where the results go. A row whose denominator is exactly 0 or infinite becomes zeros; NaN stays NaN.
struct LinearAttentionOutput {
  HeadView<float> out;            // [B, H, Tq, Dv], apart from all inputs
  float* denominators = nullptr;  // [B, H, Tq], or null
  DenominatorReport* report = nullptr;
  // RMS norm of each head's row, o / sqrt(mean o^2 + eps) * weight, in the place of the denominator: Qin et
  // al., arXiv:2210.10340. weight [Dv], or null for ones.
  bool rms_norm = false;
  float rms_eps = 1e-6f;
  const float* rms_weight = nullptr;
};

// The sums over all keys so far, which is all that later queries need: for each head S = sum b_j v_j^T [F,
// Dv] and z = sum b'_j [F], with b the features that RoPE has turned and b' those of the denominator. S is
// kept with what its roundings lost and z in double, so that neither wears out, whatever the lengths added.
class LinearAttentionState {
 public:
  // Leaves the state as it was unless it answers kOk; then it is empty.
  Status create(const LinearAttentionOptions& options, const LinearStateShape& shape);
  void reset();

  // Causal: adds keys and answers queries, to each of which the keys up to its own are visible and those of
  // all earlier calls. With fewer queries than keys the first keys have none. Anything but kOk changes
  // nothing.
  Status append(const LinearAttentionInput& input, const LinearAttentionOutput& output);
  // Not causal: adds all keys, then answers the queries.
  Status attend(const LinearAttentionInput& input, const LinearAttentionOutput& output);

  // The sums as bytes: z [B, G, F] in double, then S and its lost parts [B, G, F, Dv] in float. No check is
  // made that the bytes were another state's.
  size_t bytes() const;
  void save(void* bytes) const;
  void restore(const void* bytes);

  // S [B, G, F, Dv]. Whoever writes to it has called reset before.
  float* sums() { return sums_.data(); }

 private:
  // The kept keys of a block and their values, in the room of one thread.
  struct KeptKeys {
    size_t count = 0;
    size_t tokens[kLinearBlock];  // which of the block they are
    bool values_finite = true;
    float* transposed;  // [F, kLinearBlock]
    float* values;      // [count, Dv]
    float* weights;     // room for [kLinearBlock, kLinearBlock]
    float* update;      // room for [F, Dv]
  };

  Status prepare(const LinearAttentionInput& input, const LinearAttentionOutput& output);
  Status run(const LinearAttentionInput& input, const LinearAttentionOutput& output, bool causal);
  KeptKeys gather(const LinearAttentionInput& input, const TokenBlock& block, size_t kv_head, size_t thread);
  void normalizers(const TokenBlock& block, size_t kv_head, size_t group, const KeptKeys& kept);
  void mix(const TokenBlock& block, size_t kv_head, size_t h, const KeptKeys& kept, HeadView<float> out);
  size_t headGrain(const LinearAttentionInput& input) const;
  void finish(const TokenBlock& block, size_t h, const LinearAttentionOutput& output) const;
  void countDenominators(const TokenBlock& block, const LinearAttentionOutput& output) const;
  void addKeys(size_t b, size_t kv_head, const KeptKeys& kept);

  FeatureSource querySource(const LinearAttentionInput& input) const;
  FeatureSource keySource(const LinearAttentionInput& input) const;
  double* normalizer(size_t b, size_t kv_head) {
    return normalizers_.data() + (b * shape_.kv_heads + kv_head) * dim_;
  }
  float* sum(size_t b, size_t kv_head) {
    return sums_.data() + (b * shape_.kv_heads + kv_head) * dim_ * shape_.value_dim;
  }

  LinearAttentionOptions options_;
  LinearStateShape shape_;
  size_t dim_ = 0;        // F
  size_t kept_size_ = 0;  // floats that KeptKeys point to
  Buffer<double> normalizers_;
  Buffer<float> sums_;
  Buffer<float> lost_;

  // Room for one block, kept for the next call.
  FeatureBlock queries_;
  FeatureBlock keys_;
  Buffer<float> kept_;           // what KeptKeys point to, for each thread
  Buffer<double> denominators_;  // [H, kLinearBlock]
};

// The same in one call: append or attend of a state that was empty before.
Status linearAttention(const LinearAttentionOptions& options, bool causal, const LinearAttentionInput& input,
                       const LinearAttentionOutput& output);

}  // namespace ropewalk
