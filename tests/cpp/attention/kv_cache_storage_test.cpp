// Caches that store float16 and q8_0: what they give is what a float32 cache of the rounded numbers gives.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "attention/cache_data.h"
#include "attention/key_blocks.h"
#include "kernels/weight_format.h"

namespace ropewalk::test {
namespace {

constexpr WeightType kStored[] = {WeightType::kFloat16, WeightType::kQ8_0};

// Sizes of a cache; queries have two heads for each of keys.
struct Sizes {
  size_t dim = 32;
  size_t value_dim = 64;
  size_t batch = 2;
  size_t kv_heads = 2;
};

KvCacheOptions optionsOf(const Sizes& s, WeightType storage, RopePlan* plan = nullptr,
                         CachedKeys kept = CachedKeys::kRotated) {
  KvCacheOptions options;
  options.batch = s.batch;
  options.kv_heads = s.kv_heads;
  options.head_dim = s.dim;
  options.value_dim = s.value_dim;
  options.keys = plan == nullptr ? CachedKeys::kPlain : kept;
  options.storage = storage;
  options.plan = plan;
  return options;
}

// Keys, values and queries, [B, heads, count, dim].
struct Given {
  Sizes sizes;
  size_t count;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> q;

  Given(Random& random, const Sizes& s, size_t n)
      : sizes(s),
        count(n),
        k(random.floats(s.batch * s.kv_heads * n * s.dim, 3)),
        v(random.floats(s.batch * s.kv_heads * n * s.value_dim, 2)),
        q(random.floats(s.batch * 2 * s.kv_heads * n * s.dim)) {}

  Status appendTo(KvCache& cache, size_t first, size_t n) const {
    return cache.append(part(k, sizes.kv_heads, sizes.dim, first, n),
                        part(v, sizes.kv_heads, sizes.value_dim, first, n));
  }
  HeadView<const float> queries(size_t first, size_t n) const {
    return part(q, 2 * sizes.kv_heads, sizes.dim, first, n);
  }
  HeadView<const float> part(const std::vector<float>& x, size_t heads, size_t dim, size_t first,
                             size_t n) const {
    HeadView<const float> view = headsFirst(x.data(), sizes.batch, heads, count, dim);
    view.data += first * dim;
    view.tokens = n;
    return view;
  }
};

// Rows of x as a format keeps them.
std::vector<float> rounded(const std::vector<float>& x, size_t dim, WeightType type) {
  std::vector<unsigned char> row(formatOf(type).rowBytes(dim));
  std::vector<float> out(x.size());
  for (size_t at = 0; at < x.size(); at += dim) {
    methodsOf(type).narrow(x.data() + at, dim, row.data());
    widen(type, row.data(), dim, out.data() + at);
  }
  return out;
}

// A float32 cache of what another one reads back, at its positions.
KvCache widened(KvCache& cache) {
  KvCacheOptions options = cache.options();
  options.storage = WeightType::kFloat32;
  options.keys = CachedKeys::kPlain;
  options.plan = nullptr;
  options.growing = true;
  options.window = {};
  KvCache wide = cacheOf(options);
  const std::vector<float> keys = keysOf(cache);
  const std::vector<float> values = valuesOf(cache);
  const auto view = [&](const std::vector<float>& x, size_t dim) {
    return headsFirst(x.data(), options.batch, options.kv_heads, cache.length(), dim);
  };
  REQUIRE(wide.append(view(keys, options.head_dim), view(values, options.value_dim), {cache.positions()}) ==
          Status::kOk);
  return wide;
}

std::vector<float> attendedBy(KvCache& cache, HeadView<const float> q, const KvCacheOptions& window_of = {}) {
  const KvCacheOptions& o = cache.options();
  std::vector<float> out(o.batch * q.heads * q.tokens * o.value_dim, kNaN);
  AttentionOptions options = scaled(o.head_dim);
  options.causal = true;
  if (window_of.window.size != 0) {
    options.window_left = static_cast<int64_t>(window_of.window.size) - 1;
    options.sink_tokens = window_of.window.sink_tokens;
  }
  REQUIRE(cache.attend(headsFirst(out.data(), o.batch, q.heads, q.tokens, o.value_dim), {q, true, true},
                       options) == Status::kOk);
  return out;
}

std::vector<uint8_t> saved(const KvCache& cache) {
  std::vector<uint8_t> bytes(cache.savedSize());
  cache.save(bytes.data());
  return bytes;
}

RopePlan planFor(size_t dim, double base = 10000) {
  RopeOptions options = ropeOptions(dim, dim);
  options.frequencies.base = base;
  return planOf(options);
}

}  // namespace

TEST_CASE("A cache gives back keys and values as its format rounds them", "[attention]") {
  Random random(1);
  for (const WeightType type : kStored) {
    const size_t unit = formatOf(type).block;
    for (const Sizes& sizes : {Sizes{unit, 3 * unit}, Sizes{3 * unit, unit}, Sizes{5 * unit, 2 * unit, 1, 3},
                               Sizes{32 + unit, 64 + unit}}) {
      const Given given(random, sizes, 41);
      for (const size_t piece : {size_t{1}, size_t{3}, size_t{8}, size_t{41}}) {
        KvCache cache = cacheOf(optionsOf(sizes, type));
        for (size_t first = 0; first < 41; first += piece)
          REQUIRE(given.appendTo(cache, first, std::min(piece, 41 - first)) == Status::kOk);
        CHECK(sameBits(keysOf(cache), rounded(given.k, sizes.dim, type)));
        CHECK(sameBits(valuesOf(cache), rounded(given.v, sizes.value_dim, type)));
      }
    }
  }
}

TEST_CASE("The memory of a cache is that of its format", "[attention]") {
  const Sizes sizes = {64, 128, 1, 3};
  const auto bytes_of = [&](WeightType type) {
    KvCacheOptions options = optionsOf(sizes, type);
    options.capacity = 1000;  // whole panels
    return cacheOf(options).bytes();
  };
  const size_t numbers = 3 * 1000 * (sizes.dim + sizes.value_dim);
  const size_t rest = bytes_of(WeightType::kFloat32) - numbers * 4;
  CHECK(rest == 1000 * (sizeof(int64_t) + sizeof(KeyOrigin)));
  CHECK(bytes_of(WeightType::kFloat16) == rest + numbers * 2);
  CHECK(bytes_of(WeightType::kQ8_0) == rest + numbers / 32 * 34);
}

TEST_CASE("Attention reads a format to the bits of its numbers in float32", "[attention]") {
  Random random(2);
  for (const WeightType type : kStored) {
    const size_t unit = formatOf(type).block;
    for (const Sizes& sizes : {Sizes{unit, unit}, Sizes{2 * unit, 5 * unit}, Sizes{64, 64, 1, 1}}) {
      for (const size_t count :
           {size_t{1}, size_t{7}, size_t{9}, size_t{255}, size_t{256}, size_t{257}, size_t{600}}) {
        const Given given(random, sizes, count);
        KvCache cache = cacheOf(optionsOf(sizes, type));
        REQUIRE(given.appendTo(cache, 0, count) == Status::kOk);
        KvCache wide = widened(cache);
        // One query, a few, and more than a tile has rows for.
        for (const size_t queries : {size_t{1}, size_t{4}, size_t{70}}) {
          if (queries > count) continue;
          const HeadView<const float> q = given.queries(count - queries, queries);
          CHECK(sameBits(attendedBy(cache, q), attendedBy(wide, q)));
        }
        // A cache whose first key is within a panel.
        if (count < 8) continue;
        REQUIRE(cache.drop(0, 3) == Status::kOk);
        KvCache moved = widened(cache);
        const HeadView<const float> q = given.queries(count - 1, 1);
        const std::vector<float> expected = attendedBy(moved, q);
        const std::vector<float> got = attendedBy(cache, q);
        CHECK(largestDifference(got, expected) <= 64 * kUnit * 4);
      }
    }
  }
}

TEST_CASE("Attention widens blocks of keys that begin in one page and end in another", "[attention]") {
  Random random(11);
  const Sizes sizes = {32, 32, 1, 1};
  const size_t count = kPageSlots + 300;
  const Given given(random, sizes, count);
  for (const WeightType type : kStored) {
    for (const size_t dropped : {size_t{3}, kBlockKeys - 8, kBlockKeys + 1}) {
      KvCacheOptions options = optionsOf(sizes, type);
      options.capacity = count;
      KvCache cache = cacheOf(options);
      REQUIRE(given.appendTo(cache, 0, count) == Status::kOk);
      REQUIRE(cache.drop(0, dropped) == Status::kOk);
      KvCache wide = widened(cache);
      for (const size_t queries : {size_t{1}, size_t{4}, size_t{70}}) {
        const HeadView<const float> q = given.queries(count - queries, queries);
        INFO(queries << " queries, " << dropped << " dropped");
        CHECK(largestDifference(attendedBy(cache, q), attendedBy(wide, q)) <= 64 * kUnit * 4);
      }
    }
  }
}

TEST_CASE("Scores of a stored cache come apart as content and position", "[attention]") {
  Random random(3);
  const Sizes sizes;
  RopePlan plan = planFor(sizes.dim);
  for (const WeightType type : kStored) {
    const Given given(random, sizes, 20);
    KvCache cache = cacheOf(optionsOf(sizes, type, &plan));
    REQUIRE(given.appendTo(cache, 0, 20) == Status::kOk);
    std::vector<float> plain(given.k.size());
    REQUIRE(cache.unturnedKeys(headsFirst(plain.data(), sizes.batch, sizes.kv_heads, 20, sizes.dim)) ==
            Status::kOk);
    // Turning leaves the length of a key; rounding moves each number by 1/254 of the largest at most.
    CHECK(largestDifference(plain, given.k) <= 3 * std::sqrt(2.0) / 254 * std::sqrt(2.0));
    std::vector<float> content(sizes.batch * 2 * sizes.kv_heads * 20);
    std::vector<float> position(content.size());
    std::vector<float> raw(content.size());
    ScoreOutputs scores;
    scores.content = content.data();
    scores.position = position.data();
    scores.raw = raw.data();
    std::vector<float> out(sizes.batch * 2 * sizes.kv_heads * sizes.value_dim);
    REQUIRE(cache.attend(headsFirst(out.data(), sizes.batch, 2 * sizes.kv_heads, 1, sizes.value_dim),
                         {given.queries(19, 1), true, false}, scaled(sizes.dim), scores) == Status::kOk);
    const double scale = scaled(sizes.dim).scale;
    for (size_t i = 0; i < raw.size(); ++i) {
      CHECK(std::fabs(content[i] + position[i] - raw[i]) <= 8 * kUnit * (std::fabs(content[i]) + 1));
      // The content is the product of the query with the key as it was given, rounded.
      const size_t head = i / 20;  // of queries; two read a head of keys
      const float* q = &given.q[(head * 20 + 19) * sizes.dim];
      const float* k = &plain[(head / 2 * 20 + i % 20) * sizes.dim];
      double dot = 0;
      double work = 0;
      for (size_t d = 0; d < sizes.dim; ++d) {
        dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
        work += std::fabs(static_cast<double>(q[d]) * static_cast<double>(k[d]));
      }
      CHECK(std::fabs(content[i] - scale * dot) <= scale * work * 256 * kUnit);
    }
  }
}

TEST_CASE("Moved keys are rounded once more, however often they move", "[attention]") {
  Random random(4);
  const Sizes sizes;
  const Given given(random, sizes, 50);
  for (const WeightType type : kStored) {
    for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
      RopePlan plan = planFor(sizes.dim);
      RopePlan other = planFor(sizes.dim, 500);
      KvCache often = cacheOf(optionsOf(sizes, type, &plan, kept));
      KvCache once = cacheOf(optionsOf(sizes, type, &plan, kept));
      KvCache exact = cacheOf(optionsOf(sizes, WeightType::kFloat32, &plan, kept));
      for (KvCache* cache : {&often, &once, &exact}) REQUIRE(given.appendTo(*cache, 0, 50) == Status::kOk);
      const size_t before = often.bytes();
      for (int i = 0; i < 200; ++i) {
        REQUIRE(often.shift(0, 50, 5) == Status::kOk);
        if (i % 50 == 0) CHECK(keysOf(often).size() == given.k.size());
      }
      REQUIRE(once.shift(0, 50, 1000) == Status::kOk);
      REQUIRE(exact.shift(0, 50, 1000) == Status::kOk);
      for (KvCache* cache : {&often, &once, &exact}) REQUIRE(cache->switchTo(&other) == Status::kOk);
      CHECK(sameBits(keysOf(often), keysOf(once)));
      // The second keys have the format of the others: rows of blocks, in panels of 8 tokens.
      const size_t panels = (50 + 7) / 8;
      const size_t row_bytes = formatOf(type).rowBytes(sizes.dim);
      const size_t keys = sizes.batch * sizes.kv_heads * panels * 8 * row_bytes;
      const size_t grown = often.bytes() - before;
      CHECK((grown >= keys && grown < keys + 64));  // and where they begin
      // Two roundings of numbers up to 3 sqrt 2, the first of which is turned.
      const double step = type == WeightType::kFloat16 ? 0x1p-9 : 3 * std::sqrt(2.0) / 254 * 1.001;
      CHECK(largestDifference(keysOf(once), keysOf(exact)) <= (1 + std::sqrt(2.0)) * step);
      CHECK(sameBits(attendedBy(often, given.queries(49, 1)), attendedBy(once, given.queries(49, 1))));
    }
  }
}

TEST_CASE("Windows, prefixes, merges and drops keep the stored numbers as they are", "[attention]") {
  Random random(5);
  const Sizes sizes;
  const Given given(random, sizes, 60);
  RopePlan plan = planFor(sizes.dim);
  for (const WeightType type : kStored) {
    KvCacheOptions options = optionsOf(sizes, type, &plan);
    KvCache all = cacheOf(options);
    REQUIRE(given.appendTo(all, 0, 60) == Status::kOk);
    const std::vector<float> keys = keysOf(all);
    const std::vector<float> values = valuesOf(all);
    const auto has = [&](KvCache& cache, const std::vector<size_t>& rows) {
      REQUIRE(cache.length() == rows.size());
      const std::vector<float> k = keysOf(cache);
      const std::vector<float> v = valuesOf(cache);
      for (size_t n = 0; n < sizes.batch * sizes.kv_heads; ++n) {
        for (size_t i = 0; i < rows.size(); ++i) {
          const size_t at = n * rows.size() + i;
          const size_t from = n * 60 + rows[i];
          CHECK(sameBits(&k[at * sizes.dim], &keys[from * sizes.dim], sizes.dim));
          CHECK(sameBits(&v[at * sizes.value_dim], &values[from * sizes.value_dim], sizes.value_dim));
        }
      }
    };
    options.window = {9, 2, false};
    options.growing = false;
    options.capacity = 12;
    KvCache windowed = cacheOf(options);
    for (size_t t = 0; t < 60; ++t) REQUIRE(given.appendTo(windowed, t, 1) == Status::kOk);
    has(windowed, {0, 1, 51, 52, 53, 54, 55, 56, 57, 58, 59});
    KvCache wide = widened(windowed);
    CHECK(largestDifference(attendedBy(windowed, given.queries(59, 1)),
                            attendedBy(wide, given.queries(59, 1), options)) <= 64 * kUnit * 2);

    KvCache prefix;
    REQUIRE(all.copyPrefix(13, &prefix) == Status::kOk);
    has(prefix, upTo(13));
    REQUIRE(prefix.merge(all, 20, 5) == Status::kOk);
    REQUIRE(prefix.shift(13, 5, 7) == Status::kOk);  // back to where they were
    REQUIRE(prefix.drop(3, 9) == Status::kOk);
    has(prefix, {0, 1, 2, 12, 20, 21, 22, 23, 24});
    REQUIRE(prefix.truncate(5) == Status::kOk);
    has(prefix, {0, 1, 2, 12, 20});
    for (const WeightType another : {WeightType::kFloat32, WeightType::kFloat16, WeightType::kQ8_0}) {
      KvCache other = cacheOf(optionsOf(sizes, another, &plan));
      CHECK((other.merge(all, 0, 5) == Status::kOk) == (another == type));
    }
  }
}

TEST_CASE("A stored cache is saved in its format, and restored to the bit", "[attention]") {
  Random random(6);
  const Sizes sizes;
  const Given given(random, sizes, 37);
  RopePlan plan = planFor(sizes.dim);
  for (const WeightType type : kStored) {
    KvCache cache = cacheOf(optionsOf(sizes, type, &plan));
    REQUIRE(given.appendTo(cache, 0, 37) == Status::kOk);
    REQUIRE(cache.shift(5, 32, 3) == Status::kOk);
    const std::vector<uint8_t> bytes = saved(cache);
    const size_t rows = sizes.batch * sizes.kv_heads * 37;
    const size_t numbers =
        rows * (formatOf(type).rowBytes(sizes.dim) + formatOf(type).rowBytes(sizes.value_dim));
    CHECK(bytes.size() == 21 * 8 + 8 + 37 * 3 * 8 + (numbers + 7) / 8 * 8);
    RopePlan* const plans[] = {&plan};
    KvCache copy;
    REQUIRE(copy.restore(bytes.data(), bytes.size(), plans, 1) == Status::kOk);
    CHECK(copy.options().storage == type);
    CHECK(snapshotOf(copy) == snapshotOf(cache));
    CHECK(saved(copy) == bytes);
    for (KvCache* each : {&cache, &copy}) REQUIRE(given.appendTo(*each, 0, 9) == Status::kOk);
    CHECK(sameBits(attendedBy(copy, given.queries(0, 9)), attendedBy(cache, given.queries(0, 9))));
    for (size_t size = 0; size < bytes.size(); ++size)
      CHECK(copy.restore(bytes.data(), size, plans, 1) == Status::kInvalidArgument);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::vector<uint8_t> altered = bytes;
      altered[i] = static_cast<uint8_t>(altered[i] ^ (1 + random.bits() % 255));
      if (copy.restore(altered.data(), altered.size(), plans, 1) != Status::kInvalidArgument) FAIL();
    }
  }
}

TEST_CASE("Numbers that a format cannot hold spread as NaN or infinity, and no further", "[attention]") {
  Random random(7);
  const Sizes sizes = {32, 64, 1, 1};
  for (const WeightType type : kStored) {
    for (const float strange : {kNaN, std::numeric_limits<float>::infinity(), 1e30f}) {
      Given given(random, sizes, 3);
      given.v[64 + 40] = strange;  // of token 1
      KvCache cache = cacheOf(optionsOf(sizes, type));
      REQUIRE(given.appendTo(cache, 0, 3) == Status::kOk);
      const std::vector<float> values = valuesOf(cache);
      for (size_t i = 0; i < values.size(); ++i) {
        const bool in_block = type == WeightType::kFloat16 ? i == 64 + 40 : i >= 64 + 32 && i < 128;
        if (!in_block) CHECK(std::isfinite(values[i]));
      }
      CHECK_FALSE(std::isfinite(values[64 + 40]));
    }
  }
}

TEST_CASE("A cache refuses formats that it does not have, and sizes that are no whole blocks",
          "[attention]") {
  for (const WeightFormat& format : kWeightFormats) {
    const bool known = format.type == WeightType::kFloat32 || format.type == WeightType::kFloat16 ||
                       format.type == WeightType::kQ8_0;
    KvCache cache;
    CHECK((cache.create(optionsOf({256, 256}, format.type)) == Status::kOk) == known);
  }
  for (size_t dim = 1; dim <= 67; ++dim) {
    KvCache cache;
    const Status expected = dim % 32 == 0 ? Status::kOk : Status::kInvalidShape;
    CHECK(cache.create(optionsOf({dim, 32}, WeightType::kQ8_0)) == expected);
    CHECK(cache.create(optionsOf({32, dim}, WeightType::kQ8_0)) == expected);
    CHECK(cache.create(optionsOf({dim, dim}, WeightType::kFloat16)) == Status::kOk);
  }
}

}  // namespace ropewalk::test
