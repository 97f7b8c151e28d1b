// Bindings of the KV cache.
#include <emscripten/bind.h>

#include <algorithm>

#include "attention/kv_cache.h"
#include "attention_call.h"

namespace ropewalk::binding {
namespace {

int createKvCache(KvCache& cache, Pointer fields, RopePlan* plan) {
  auto options = readCall<KvCacheOptions>(fields);
  options.plan = plan;
  return number(cache.create(options));
}
void formOfKvCache(const KvCache& cache, Pointer out) {
  const KvCacheOptions& o = cache.options();
  writeResult<CacheForm>(out, {.batch = o.batch,
                               .kv_heads = o.kv_heads,
                               .head_dim = o.head_dim,
                               .value_dim = o.value_dim,
                               .keys = o.keys,
                               .storage = o.storage,
                               .window_size = o.window.size,
                               .rebased = o.window.rebased});
}

Pointer planAddress(const KvCache& cache) {
  return reinterpret_cast<Pointer>(cache.plan());
}
bool holdsKeysOf(const KvCache& cache, Pointer plan) {
  return cache.holdsKeysOf(at<RopePlan>(plan));
}

double positionAt(const KvCache& cache, size_t token) {
  return static_cast<double>(cache.positions()[token]);
}
void positionsOf(const KvCache& cache, Pointer out) {
  std::copy_n(cache.positions(), cache.length(), at<double>(out));
}
double nextPosition(const KvCache& cache) {
  return static_cast<double>(cache.nextPosition());
}
bool misses(const KvCache& cache, double position) {
  return cache.misses(static_cast<int64_t>(position));
}
double room(const KvCache& cache, double first_position) {
  return static_cast<double>(cache.room(static_cast<int64_t>(first_position)));
}

int appendToKvCache(KvCache& cache, Pointer fields) {
  const auto c = readCall<AppendCall>(fields);
  const KvCacheOptions& o = cache.options();
  const size_t axes = o.plan == nullptr ? 1 : o.plan->axes();
  const AppendPositions positions = {
      c.positions == 0 ? nullptr : integers(c.positions, c.tokens),
      c.axis_positions == 0 ? nullptr : integers(c.axis_positions, axes * c.tokens)};
  return number(cache.append(
      heads<const float>(c.k, c.tokens_first, o.batch, o.kv_heads, c.tokens, o.head_dim),
      heads<const float>(c.v, c.tokens_first, o.batch, o.kv_heads, c.tokens, o.value_dim), positions));
}

int mergeKvCaches(KvCache& cache, const KvCache& other, size_t first, size_t count, bool placed,
                  double position) {
  const auto first_position = static_cast<int64_t>(position);
  return number(cache.merge(other, first, count, placed ? &first_position : nullptr));
}

int truncateKvCache(KvCache& cache, size_t length) {
  return number(cache.truncate(length));
}
int dropFromKvCache(KvCache& cache, size_t first, size_t count) {
  return number(cache.drop(first, count));
}
int shiftKvCache(KvCache& cache, size_t first, size_t count, double by) {
  return number(cache.shift(first, count, static_cast<int64_t>(by)));
}
int switchKvCache(KvCache& cache, RopePlan& plan) {
  return number(cache.switchTo(&plan));
}
int copyPrefixOfKvCache(const KvCache& cache, size_t length, KvCache& copy) {
  return number(cache.copyPrefix(length, &copy));
}

int keysOfKvCache(KvCache& cache, Pointer out) {
  const KvCacheOptions& o = cache.options();
  return number(
      cache.copyKeys(0, headsFirst(at<float>(out), o.batch, o.kv_heads, cache.length(), o.head_dim)));
}
void valuesOfKvCache(const KvCache& cache, Pointer out) {
  const KvCacheOptions& o = cache.options();
  cache.copyValues(headsFirst(at<float>(out), o.batch, o.kv_heads, cache.length(), o.value_dim));
}

// Keys and values are those of the cache; c.k and c.v are not read.
int attendOverKvCache(KvCache& cache, Pointer fields, bool at_end) {
  const auto c = readCall<AttentionCall>(fields);
  return number(cache.attend(outOf(c), {queriesOf(c, c.q), at_end, false},
                             withVisibility(c.options, c.visibility, c.batch, c.keys), scoresOf(c)));
}

void saveKvCache(const KvCache& cache, Pointer out) {
  cache.save(at<uint8_t>(out));
}
// plans: an array of addresses of plans
int checkSavedKvCache(Pointer bytes, size_t size, Pointer plans, size_t plan_count) {
  return static_cast<int>(KvCache::checkSaved(at<uint8_t>(bytes), size, at<RopePlan*>(plans), plan_count));
}
int restoreKvCache(KvCache& cache, Pointer bytes, size_t size, Pointer plans, size_t plan_count) {
  return number(cache.restore(at<uint8_t>(bytes), size, at<RopePlan*>(plans), plan_count));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(kv_cache) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  class_<KvCache>("KvCache")
      .constructor<>()
      .property("length", &KvCache::length)
      .property("capacity", &KvCache::capacity)
      .property("bytes", &KvCache::bytes)
      .property("nextPosition", &nextPosition)
      .property("planAddress", &planAddress)
      .function("create", &createKvCache, allow_raw_pointers())
      .function("form", &formOfKvCache)
      .function("holdsKeysOf", &holdsKeysOf)
      .function("positionAt", &positionAt)
      .function("positions", &positionsOf)
      .function("misses", &misses)
      .function("room", &room)
      .function("mayEndAt", &KvCache::mayEndAt)
      .function("append", &appendToKvCache)
      .function("merge", &mergeKvCaches)
      .function("truncate", &truncateKvCache)
      .function("drop", &dropFromKvCache)
      .function("shift", &shiftKvCache)
      .function("switchTo", &switchKvCache)
      .function("reset", &KvCache::reset)
      .function("copyPrefix", &copyPrefixOfKvCache)
      .function("keys", &keysOfKvCache)
      .function("values", &valuesOfKvCache)
      .function("attend", &attendOverKvCache)
      .function("savedSize", &KvCache::savedSize)
      .function("save", &saveKvCache)
      .function("restore", &restoreKvCache);
  function("checkSavedKvCache", &checkSavedKvCache);
}
