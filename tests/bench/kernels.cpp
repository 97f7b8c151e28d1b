#include "kernels.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "attention/attention.h"
#include "attention/kv_cache.h"
#include "encodings/rope.h"
#include "encodings/sinusoidal.h"
#include "kernels/gemm.h"
#include "kernels/softmax.h"
#include "kernels/weight_format.h"
#include "layers/init.h"
#include "layers/self_attention.h"
#include "simd.h"

namespace ropewalk::bench {
namespace {

// n numbers in [-1, 1), from stream `stream`.
bool fill(Buffer<float>& x, size_t n, uint32_t stream) {
  if (x.allocate(n) != Status::kOk) return false;
  fillUniform(1, stream, 1, x.data(), n);
  return true;
}

class Rope : public Work {
 public:
  bool create(const char* pairing, size_t heads, size_t tokens, size_t dim, int64_t offset) {
    RopeOptions options;
    options.head_dim = dim;
    options.frequencies.dim = dim;
    if (std::strcmp(pairing, "interleaved") == 0) options.pairing = Pairing::kInterleaved;
    heads_ = heads;
    tokens_ = tokens;
    dim_ = dim;
    positions_.offset = offset;
    return plan_.create(options) == Status::kOk && fill(q_, heads * tokens * dim, 0) &&
           fill(k_, heads * tokens * dim, 1);
  }
  void run() override {
    for (Buffer<float>* x : {&q_, &k_}) {
      (void)plan_.rotate(headsFirst(x->data(), 1, heads_, tokens_, dim_), positions_);
    }
  }

 private:
  size_t heads_ = 0;
  size_t tokens_ = 0;
  size_t dim_ = 0;
  Positions positions_;
  RopePlan plan_;
  Buffer<float> q_;
  Buffer<float> k_;
};

class Sinusoid : public Work {
 public:
  bool create(size_t rows, size_t dim) {
    options_.dim = dim;
    if (positions_.allocate(rows) != Status::kOk) return false;
    for (size_t i = 0; i < rows; ++i) positions_[i] = static_cast<int64_t>(i);
    return out_.allocate(rows * dim) == Status::kOk;
  }
  void run() override { (void)sinusoidal(options_, positions_.data(), positions_.size(), out_.data()); }

 private:
  SinusoidalOptions options_;
  Buffer<int64_t> positions_;
  Buffer<float> out_;
};

class Linear : public Work {
 public:
  bool create(size_t rows, size_t inputs, size_t outputs, WeightType type) {
    rows_ = rows;
    inputs_ = inputs;
    outputs_ = outputs;
    Buffer<float> w;
    return fill(x_, rows * inputs, 0) && fill(w, inputs * outputs, 1) &&
           weight_.pack(WeightType::kFloat32, w.data(), outputs, inputs, type) == Status::kOk &&
           out_.allocate(rows * outputs) == Status::kOk;
  }
  void run() override { gemm(out_.data(), outputs_, x_.data(), inputs_, weight_, rows_); }

 private:
  size_t rows_ = 0;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  Buffer<float> x_;
  PackedMatrix weight_;
  Buffer<float> out_;
};

// Rows of a file's blocks brought into the order of the products, as a load of a model does.
class Pack : public Work {
 public:
  bool create(size_t rows, size_t inputs, WeightType type) {
    rows_ = rows;
    type_ = type;
    const size_t bytes = formatOf(type).rowBytes(inputs);
    Buffer<float> w;
    if (!fill(w, inputs, 0) || stored_.allocate(rows * bytes) != Status::kOk) return false;
    for (size_t r = 0; r < rows; ++r) methodsOf(type).narrow(w.data(), inputs, stored_.data() + r * bytes);
    return weight_.allocate(rows, inputs, type) == Status::kOk;
  }
  void run() override { (void)weight_.packRows(0, rows_, type_, stored_.data()); }

 private:
  size_t rows_ = 0;
  WeightType type_ = WeightType::kFloat32;
  Buffer<unsigned char> stored_;
  PackedMatrix weight_;
};

class Matmul : public Work {
 public:
  bool create(size_t rows, size_t inner, size_t columns) {
    rows_ = rows;
    inner_ = inner;
    columns_ = columns;
    return fill(a_, rows * inner, 0) && fill(b_, inner * columns, 1) &&
           out_.allocate(rows * columns) == Status::kOk;
  }
  void run() override {
    const MatrixView b = {b_.data(), inner_, columns_, columns_};
    gemm(out_.data(), columns_, a_.data(), inner_, b, rows_);
  }

 private:
  size_t rows_ = 0;
  size_t inner_ = 0;
  size_t columns_ = 0;
  Buffer<float> a_;
  Buffer<float> b_;
  Buffer<float> out_;
};

class Softmax : public Work {
 public:
  bool create(size_t rows, size_t columns) {
    rows_ = rows;
    columns_ = columns;
    return fill(x_, rows * columns, 0) && out_.allocate(rows * columns) == Status::kOk;
  }
  void run() override { softmaxRows(out_.data(), columns_, x_.data(), columns_, rows_, columns_); }

 private:
  size_t rows_ = 0;
  size_t columns_ = 0;
  Buffer<float> x_;
  Buffer<float> out_;
};

class AttentionCore : public Work {
 public:
  bool create(size_t heads, size_t kv_heads, size_t queries, size_t keys, size_t dim, bool causal) {
    heads_ = heads;
    kv_heads_ = kv_heads;
    queries_ = queries;
    keys_ = keys;
    dim_ = dim;
    options_.scale = 1 / std::sqrt(static_cast<float>(dim));
    options_.causal = causal;
    const size_t rows = heads * queries * dim;
    const size_t cached = kv_heads * keys * dim;
    return fill(q_, rows, 0) && fill(k_, cached, 1) && fill(v_, cached, 2) && fill(out_, rows, 3);
  }
  void run() override {
    const auto rows = [&](Buffer<float>& x) { return headsFirst(x.data(), 1, heads_, queries_, dim_); };
    const auto cached = [&](Buffer<float>& x) { return headsFirst(x.data(), 1, kv_heads_, keys_, dim_); };
    (void)attention(rows(out_), rows(q_).readOnly(), cached(k_).readOnly(), cached(v_).readOnly(), options_);
  }

 private:
  size_t heads_ = 0;
  size_t kv_heads_ = 0;
  size_t queries_ = 0;
  size_t keys_ = 0;
  size_t dim_ = 0;
  AttentionOptions options_;
  Buffer<float> q_;
  Buffer<float> k_;
  Buffer<float> v_;
  Buffer<float> out_;
};

// One token against `past` others, which the cache is brought back to after each step.
class Decode : public Work {
 public:
  bool create(size_t dim, size_t heads, size_t past) {
    RopeOptions rope;
    rope.head_dim = rope.frequencies.dim = dim / heads;
    if (plan_.create(rope) != Status::kOk) return false;
    SelfAttentionParts parts;
    uint32_t stream = 0;
    for (ropewalk::Linear* map : {&parts.query, &parts.key, &parts.value, &parts.output}) {
      Buffer<float> w;
      LinearWeights weights;
      if (!fill(w, dim * dim, stream++)) return false;
      weights.weight = w.data();
      if (map->create(weights, dim, dim) != Status::kOk) return false;
    }
    const size_t head_dim = dim / heads;
    if (layer_.create({dim, heads, heads, head_dim, head_dim}, std::move(parts)) != Status::kOk) return false;
    KvCacheOptions cache;
    cache.kv_heads = heads;
    cache.head_dim = cache.value_dim = head_dim;
    cache.capacity = past + 1;
    cache.keys = CachedKeys::kRotated;
    cache.plan = &plan_;
    Buffer<float> keys;
    Buffer<float> values;
    if (cache_.create(cache) != Status::kOk || !fill(keys, past * dim, 4) || !fill(values, past * dim, 5) ||
        !fill(x_, dim, 6) || !fill(out_, dim, 7)) {
      return false;
    }
    past_ = past;
    input_.batch = input_.tokens = 1;
    input_.rope = &plan_;
    input_.positions.offset = static_cast<int64_t>(past);
    input_.attention.scale = 1 / std::sqrt(static_cast<float>(head_dim));
    input_.attention.causal = true;
    input_.cache = &cache_;
    const auto view = [&](Buffer<float>& x) {
      return headsFirst(x.data(), 1, heads, past, head_dim).readOnly();
    };
    return cache_.append(view(keys), view(values)) == Status::kOk;
  }
  void run() override {
    (void)layer_.forward(out_.data(), x_.data(), input_);
    (void)cache_.truncate(past_);
  }

 private:
  RopePlan plan_;
  SelfAttention layer_;
  KvCache cache_;
  SelfAttentionInput input_;
  size_t past_ = 0;
  Buffer<float> x_;
  Buffer<float> out_;
};

// 2^20 multiply-adds of four lanes in twelve accumulators, nothing from memory: what no kernel can pass.
class Peak : public Work {
 public:
  void run() override {
    simd::f32x4 a[12];
    const simd::f32x4 x = simd::splat(scale_);
    for (int i = 0; i < 12; ++i) a[i] = simd::splat(static_cast<float>(i));
    for (size_t n = 0; n < (size_t{1} << 20) / 12; ++n) {
      for (int i = 0; i < 12; ++i) a[i] = simd::mulAdd(a[i], x, x);
    }
    for (int i = 1; i < 12; ++i) a[0] = simd::add(a[0], a[i]);
    sink_ = simd::sum(a[0]);
  }

 private:
  volatile float scale_ = 0.5F;
  volatile float sink_ = 0;
};

#ifdef __wasm_simd128__
// The same of the products of integers that sums of coded weights are made of (simd/byte_dots.h).
template <v128_t (*Step)(v128_t, v128_t)>
class IntegerPeak : public Work {
 public:
  void run() override {
    v128_t a[12];
    const v128_t x = wasm_i8x16_splat(scale_);
    for (int i = 0; i < 12; ++i) a[i] = wasm_i32x4_splat(i);
    for (size_t n = 0; n < (size_t{1} << 20) / 12; ++n) {
      for (int i = 0; i < 12; ++i) a[i] = Step(a[i], x);
    }
    for (int i = 1; i < 12; ++i) a[0] = wasm_i32x4_add(a[0], a[i]);
    sink_ = wasm_i32x4_extract_lane(a[0], 0);
  }

 private:
  volatile int8_t scale_ = 3;
  volatile int32_t sink_ = 0;
};

v128_t addPairs(v128_t sums, v128_t x) {
  return wasm_i32x4_add(sums, wasm_i32x4_dot_i16x8(sums, x));
}
#ifdef __wasm_relaxed_simd__
v128_t addNibbles(v128_t sums, v128_t x) {
  return wasm_i16x8_add(sums, wasm_i16x8_relaxed_dot_i8x16_i7x16(sums, x));
}
v128_t addBytes(v128_t sums, v128_t x) {
  return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(sums, x, sums);
}
#endif
#endif

std::unique_ptr<Work> makePeak(const char* kind) {
#ifdef __wasm_simd128__
  if (std::strcmp(kind, "pairs") == 0) return std::make_unique<IntegerPeak<addPairs>>();
#ifdef __wasm_relaxed_simd__
  if (std::strcmp(kind, "nibbles") == 0) return std::make_unique<IntegerPeak<addNibbles>>();
  if (std::strcmp(kind, "bytes") == 0) return std::make_unique<IntegerPeak<addBytes>>();
#endif
#endif
  return kind[0] == '\0' ? std::make_unique<Peak>() : nullptr;
}

// memory.copy of `bytes` bytes: as many read as written.
class Copy : public Work {
 public:
  bool create(size_t bytes) { return fill(from_, bytes / 4, 0) && fill(to_, bytes / 4, 1); }
  void run() override {
    std::memcpy(to_.data(), from_.data(), from_.size() * sizeof(float));
    sink_ = to_[0];
  }

 private:
  Buffer<float> from_;
  Buffer<float> to_;
  volatile float sink_ = 0;
};

// A sum of `bytes` bytes: what a product of one row with a matrix cannot pass.
class Read : public Work {
 public:
  bool create(size_t bytes) { return fill(from_, bytes / 4, 0); }
  void run() override {
    constexpr size_t kStep = 8 * simd::kLanes;
    simd::f32x4 sums[8];
    for (simd::f32x4& s : sums) s = simd::splat(0);
    for (size_t i = 0; i + kStep <= from_.size(); i += kStep) {
      for (size_t j = 0; j < 8; ++j) sums[j] = simd::add(sums[j], simd::load(&from_[i + j * simd::kLanes]));
    }
    for (size_t j = 1; j < 8; ++j) sums[0] = simd::add(sums[0], sums[j]);
    sink_ = simd::sum(sums[0]);
  }

 private:
  Buffer<float> from_;
  volatile float sink_ = 0;
};

template <class T, class... Sizes>
std::unique_ptr<Work> made(Sizes... sizes) {
  auto work = std::make_unique<T>();
  if (!work->create(sizes...)) return nullptr;
  return work;
}

}  // namespace

std::unique_ptr<Work> makeWork(const char* line) {
  char kind[16] = "";
  size_t a = 0;
  size_t b = 0;
  size_t c = 0;
  size_t d = 0;
  size_t e = 0;
  if (std::sscanf(line, "rope %15s %zu %zu %zu %zu", kind, &a, &b, &c, &d) == 5) {
    return made<Rope>(kind, a, b, c, static_cast<int64_t>(d));
  }
  if (std::sscanf(line, "sinusoid %zu %zu", &a, &b) == 2) return made<Sinusoid>(a, b);
  if (std::sscanf(line, "linear %zu %zu %zu %zu", &a, &b, &c, &d) >= 3) {
    return made<Linear>(a, b, c, static_cast<WeightType>(d));  // float32 where none is named
  }
  if (std::sscanf(line, "pack %zu %zu %zu", &a, &b, &c) == 3) {
    return made<Pack>(a, b, static_cast<WeightType>(c));
  }
  if (std::sscanf(line, "matmul %zu %zu %zu", &a, &b, &c) == 3) return made<Matmul>(a, b, c);
  if (std::sscanf(line, "softmax %zu %zu", &a, &b) == 2) return made<Softmax>(a, b);
  if (std::sscanf(line, "attention %zu %zu %zu %zu", &a, &b, &c, &d) == 4) {
    return made<AttentionCore>(a, a, b, b, c, d != 0);
  }
  if (std::sscanf(line, "attend %zu %zu %zu %zu %zu", &a, &b, &c, &d, &e) == 5) {
    return made<AttentionCore>(a, b, c, d, e, false);
  }
  if (std::sscanf(line, "decode %zu %zu %zu", &a, &b, &c) == 3) return made<Decode>(a, b, c);
  if (std::strncmp(line, "peak", 4) == 0) return makePeak(line[4] == ' ' ? line + 5 : "");
  if (std::sscanf(line, "copy %zu", &a) == 1) return made<Copy>(a);
  if (std::sscanf(line, "read %zu", &a) == 1) return made<Read>(a);
  return nullptr;
}

}  // namespace ropewalk::bench
