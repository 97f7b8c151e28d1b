// Caches for fuzzers: made from an input, and all that they hold.
#pragma once

#include "attention/kv_cache.h"
#include "fuzz.h"

namespace ropewalk {

// The plans that a cache may have: two scalings of one base, and one in the other pairing.
struct FuzzPlans {
  size_t head_dim;
  RopePlan plans[3];

  explicit FuzzPlans(size_t dim) : head_dim(dim) {
    for (size_t i = 0; i < 3; ++i) {
      RopeOptions options;
      options.head_dim = head_dim;
      options.frequencies.dim = head_dim;
      options.frequencies.scaling = i == 1 ? Scaling::kLinear : Scaling::kDefault;
      options.frequencies.factor = 4;
      options.pairing = i == 2 ? Pairing::kInterleaved : Pairing::kHalf;
      require(plans[i].create(options) == Status::kOk);
    }
  }
};

// Those of one of three head dims. Made once: exact frequencies take longer than most inputs.
inline FuzzPlans& cachePlans(Input& input) {
  static FuzzPlans all[] = {FuzzPlans(2), FuzzPlans(6), FuzzPlans(32)};
  return all[input.upTo(2)];
}

inline KvCacheOptions cacheOptions(Input& input, FuzzPlans& plans) {
  KvCacheOptions o;
  o.batch = input.from(1, 2);
  o.kv_heads = input.from(1, 2);
  o.head_dim = plans.head_dim;
  o.value_dim = input.oneOf({size_t{1}, size_t{3}, size_t{32}});
  o.capacity = input.upTo(40);
  o.growing = input.flag();
  o.keys = static_cast<CachedKeys>(input.upTo(2));
  o.plan = o.keys == CachedKeys::kPlain ? nullptr : &plans.plans[input.upTo(2)];
  o.storage = input.oneOf({WeightType::kFloat32, WeightType::kFloat16, WeightType::kQ8_0});
  if (input.flag()) o.window = {input.upTo(20), input.upTo(4), input.flag()};
  return o;
}

struct CacheContents {
  std::vector<int64_t> positions;
  std::vector<float> keys;
  std::vector<float> values;
  bool operator==(const CacheContents&) const = default;
};

inline CacheContents contentsOf(KvCache& cache) {
  const KvCacheOptions& o = cache.options();
  const size_t rows = o.batch * o.kv_heads * cache.length();
  CacheContents all;
  all.positions.assign(cache.positions(), cache.positions() + cache.length());
  all.keys.resize(rows * o.head_dim);
  all.values.resize(rows * o.value_dim);
  require(cache.copyKeys(0, headsFirst(all.keys.data(), o.batch, o.kv_heads, cache.length(), o.head_dim)) ==
          Status::kOk);
  cache.copyValues(headsFirst(all.values.data(), o.batch, o.kv_heads, cache.length(), o.value_dim));
  return all;
}

inline Status appendTo(KvCache& cache, Input& input, size_t tokens, const int64_t* positions) {
  const KvCacheOptions& o = cache.options();
  const size_t rows = o.batch * o.kv_heads * tokens;
  const std::vector<float> k = input.floats(rows * o.head_dim);
  const std::vector<float> v = input.floats(rows * o.value_dim);
  return cache.append(headsFirst(k.data(), o.batch, o.kv_heads, tokens, o.head_dim),
                      headsFirst(v.data(), o.batch, o.kv_heads, tokens, o.value_dim), {positions, nullptr});
}

}  // namespace ropewalk
