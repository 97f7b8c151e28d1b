// Seeded tokens for caches, and the contents of a cache as arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/kv_cache.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {

inline constexpr size_t kBatch = 2;
inline constexpr size_t kHeads = 4;    // H
inline constexpr size_t kKvHeads = 2;  // G
inline constexpr size_t kDim = 8;      // D
inline constexpr size_t kValueDim = 6;

inline KvCacheOptions cacheOptions(RopePlan* plan = nullptr, CachedKeys kept = CachedKeys::kRotated) {
  KvCacheOptions options;
  options.batch = kBatch;
  options.kv_heads = kKvHeads;
  options.head_dim = kDim;
  options.value_dim = kValueDim;
  options.keys = plan == nullptr ? CachedKeys::kPlain : kept;
  options.plan = plan;
  return options;
}

inline KvCache cacheOf(const KvCacheOptions& options) {
  KvCache cache;
  REQUIRE(cache.create(options) == Status::kOk);
  return cache;
}

// Queries, keys and values of some tokens, [B, T, heads, dim]: the layout that a layer's projections have.
struct Tokens {
  size_t count;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;

  Tokens(Random& random, size_t n)
      : count(n),
        q(random.floats(kBatch * n * kHeads * kDim, 2)),
        k(random.floats(kBatch * n * kKvHeads * kDim, 2)),
        v(random.floats(kBatch * n * kKvHeads * kValueDim)) {}

  HeadView<const float> queries(size_t first, size_t n) const { return part(q, kHeads, kDim, first, n); }
  HeadView<const float> keys(size_t first, size_t n) const { return part(k, kKvHeads, kDim, first, n); }
  HeadView<const float> values(size_t first, size_t n) const {
    return part(v, kKvHeads, kValueDim, first, n);
  }

  Status appendTo(KvCache& cache, size_t first, size_t n, const AppendPositions& at = {}) const {
    return cache.append(keys(first, n), values(first, n), at);
  }

 private:
  HeadView<const float> part(const std::vector<float>& x, size_t heads, size_t dim, size_t first,
                             size_t n) const {
    HeadView<const float> view = tokensFirst(x.data(), kBatch, heads, count, dim);
    view.data += first * view.token_stride;
    view.tokens = n;
    return view;
  }
};

// Heads of a view, [B, H, T, D].
inline std::vector<float> written(HeadView<const float> x) {
  std::vector<float> out(x.batch * x.heads * x.tokens * x.dim);
  copyHeads(headsFirst(out.data(), x.batch, x.heads, x.tokens, x.dim), x);
  return out;
}

inline std::vector<float> keysOf(KvCache& cache) {
  const KvCacheOptions& o = cache.options();
  std::vector<float> out(o.batch * o.kv_heads * cache.length() * o.head_dim, kNaN);
  REQUIRE(cache.copyKeys(0, headsFirst(out.data(), o.batch, o.kv_heads, cache.length(), o.head_dim)) ==
          Status::kOk);
  return out;
}

inline std::vector<float> valuesOf(const KvCache& cache) {
  const KvCacheOptions& o = cache.options();
  std::vector<float> out(o.batch * o.kv_heads * cache.length() * o.value_dim, kNaN);
  cache.copyValues(headsFirst(out.data(), o.batch, o.kv_heads, cache.length(), o.value_dim));
  return out;
}

inline std::vector<int64_t> positionsOf(const KvCache& cache) {
  return {cache.positions(), cache.positions() + cache.length()};
}

// All that a cache tells, so that a refused call can be shown to have changed none of it.
struct Snapshot {
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<int64_t> positions;
  size_t capacity;
  const RopePlan* plan;
  bool operator==(const Snapshot&) const = default;
};
inline Snapshot snapshotOf(KvCache& cache) {
  return {keysOf(cache), valuesOf(cache), positionsOf(cache), cache.capacity(), cache.plan()};
}

// Keys of chosen tokens turned by a plan at some positions, [B, G, T, D].
inline std::vector<float> turnedKeys(RopePlan& plan, const Tokens& tokens, const std::vector<size_t>& chosen,
                                     const std::vector<int64_t>& positions) {
  std::vector<float> out(kBatch * kKvHeads * chosen.size() * kDim);
  const HeadView<float> view = headsFirst(out.data(), kBatch, kKvHeads, chosen.size(), kDim);
  for (size_t t = 0; t < chosen.size(); ++t) {
    HeadView<float> one = view;
    one.data += t * view.token_stride;
    one.tokens = 1;
    copyHeads(one, tokens.keys(chosen[t], 1));
  }
  REQUIRE(plan.rotate(view, {positions.data(), false, 0}, Turn::kForward, Role::kKey) == Status::kOk);
  return out;
}

inline std::vector<size_t> upTo(size_t n) {
  std::vector<size_t> list(n);
  for (size_t i = 0; i < n; ++i) list[i] = i;
  return list;
}

// Attention of the last `n` tokens over a cache, [B, H, n, Dv].
inline std::vector<float> attended(KvCache& cache, HeadView<const float> q,
                                   AttentionOptions options = scaled(kDim), bool at_end = true) {
  std::vector<float> out(kBatch * kHeads * q.tokens * kValueDim, kNaN);
  options.causal = true;
  REQUIRE(cache.attend(headsFirst(out.data(), kBatch, kHeads, q.tokens, kValueDim), {q, at_end, false},
                       options) == Status::kOk);
  return out;
}

// Two turns of a key, up to 2 sqrt 2 long, each with 4 roundings, and the same for what it is compared with.
inline constexpr double kTurnTolerance = 4 * 4 * kUnit * 2 * 2;

}  // namespace ropewalk::test
