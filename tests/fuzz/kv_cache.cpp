// libFuzzer: operations of a KV cache in any order. A call that is refused changes nothing; without a window
// the positions are those of a list that is kept beside it.
#include <algorithm>
#include <cmath>

#include "cache.h"

namespace {

using namespace ropewalk;

void attendTo(KvCache& cache, Input& input) {
  const KvCacheOptions& o = cache.options();
  const size_t queries = input.from(1, 3);
  const std::vector<float> q = input.floats(o.batch * o.kv_heads * queries * o.head_dim);
  std::vector<float> out(o.batch * o.kv_heads * queries * o.value_dim, 100.0f);
  AttentionOptions options;
  options.scale = 0.5f;
  options.causal = input.flag();
  CacheQueries of = {headsFirst(q.data(), o.batch, o.kv_heads, queries, o.head_dim), input.flag(), false};
  options.query_offset = of.at_end ? 0 : input.position() / 2;
  const Status status =
      cache.attend(headsFirst(out.data(), o.batch, o.kv_heads, queries, o.value_dim), of, options);
  for (const float value : out) require(status == Status::kOk ? std::fabs(value) <= 4.1f : value == 100.0f);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  FuzzPlans& plans = cachePlans(input);
  const KvCacheOptions options = cacheOptions(input, plans);
  KvCache cache;
  if (cache.create(options) != Status::kOk) return 0;
  KvCache other;
  require(other.create(options) == Status::kOk);
  const bool windowed = options.window.size != 0;
  std::vector<int64_t> expected;
  CacheContents before = contentsOf(cache);
  for (size_t step = 0; step < 40 && input.left() > 0; ++step) {
    const size_t length = cache.length();
    const size_t first = input.upTo(length);
    const size_t count = input.upTo(length - first);
    Status status = Status::kOk;
    bool only_reads = false;
    switch (input.upTo(9)) {
      case 0:
      case 1: {
        const size_t tokens = input.upTo(12);
        std::vector<int64_t> at(tokens);
        int64_t position = cache.nextPosition() + static_cast<int64_t>(input.upTo(3)) - 1;
        for (int64_t& p : at) p = position += static_cast<int64_t>(input.upTo(2));
        const bool listed = input.flag();
        const int64_t next = cache.nextPosition();
        status = appendTo(cache, input, tokens, listed ? at.data() : nullptr);
        for (size_t t = 0; status == Status::kOk && t < tokens; ++t)
          expected.push_back(listed ? at[t] : next + static_cast<int64_t>(t));
        break;
      }
      case 2:
        status = cache.truncate(first);
        if (status == Status::kOk) expected.resize(std::min(first, expected.size()));
        break;
      case 3:
        status = cache.drop(first, count);
        if (status == Status::kOk && !windowed)
          expected.erase(expected.begin() + static_cast<int>(first),
                         expected.begin() + static_cast<int>(first + count));
        break;
      case 4: {
        const int64_t by = input.flag() ? input.position() : input.take<int8_t>();
        status = cache.shift(first, count, by);
        for (size_t i = first; status == Status::kOk && !windowed && i < first + count; ++i)
          expected[i] += by;
        break;
      }
      case 5:
        cache.reset();
        expected.clear();
        break;
      case 6:
        status = cache.switchTo(&plans.plans[input.upTo(2)]);
        if (status == Status::kOk) require(cache.plan() != nullptr);
        break;
      case 7:
        attendTo(cache, input);
        only_reads = true;
        break;
      case 8: {
        KvCache copy;
        if (cache.copyPrefix(first, &copy) == Status::kOk) {
          require(copy.length() == first);
          require(std::equal(copy.positions(), copy.positions() + first, before.positions.begin()));
          std::swap(copy, other);
        }
        only_reads = true;
        break;
      }
      default: {
        const size_t from = input.upTo(other.length());
        const size_t tokens = input.upTo(other.length() - from);
        const int64_t at = cache.nextPosition() + static_cast<int64_t>(input.upTo(3));
        const int64_t begin = input.flag() ? at : cache.nextPosition();
        status = cache.merge(other, from, tokens, &begin);
        for (size_t i = 0; status == Status::kOk && i < tokens; ++i)
          expected.push_back(begin + other.positions()[from + i] - other.positions()[from]);
        break;
      }
    }
    CacheContents after = contentsOf(cache);
    if (status != Status::kOk || only_reads) require(after == before);
    if (!windowed) require(after.positions == expected);
    require(std::is_sorted(after.positions.begin(), after.positions.end()));
    require(options.growing || cache.length() <= options.capacity);
    for (const float value : after.keys) require(std::isfinite(value));
    before = std::move(after);
  }
  return 0;
}
