// Layers with a KV cache: chunks of any size give the result of one call.
#include <algorithm>
#include <vector>

#include "attention/kv_cache.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kTokens = 9;
constexpr size_t kModel = 12;

BlockShape decoder() {
  BlockShape shape;
  shape.model = kModel;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.dim = 6;
  shape.value_dim = 6;
  shape.hidden = 20;
  shape.head_norm = NormKind::kRms;
  return shape;
}

KvCache cacheFor(RopePlan* plan, CachedKeys kept = CachedKeys::kRotated, CacheWindow window = {}) {
  KvCacheOptions options;
  options.batch = 2;
  options.kv_heads = 2;
  options.head_dim = options.value_dim = 6;
  options.plan = plan;
  options.keys = plan == nullptr ? CachedKeys::kPlain : kept;
  options.window = window;
  KvCache cache;
  REQUIRE(cache.create(options) == Status::kOk);
  return cache;
}

// Tokens first ... first + count - 1 of both batch entries.
std::vector<float> part(const std::vector<float>& x, size_t first, size_t count) {
  std::vector<float> rows;
  for (size_t b = 0; b < 2; ++b) {
    const auto start = x.begin() + static_cast<std::ptrdiff_t>((b * kTokens + first) * kModel);
    rows.insert(rows.end(), start, start + static_cast<std::ptrdiff_t>(count * kModel));
  }
  return rows;
}

Status forwardPart(const TransformerBlock& block, const BlockData& data, SelfAttentionInput input,
                   size_t first, size_t count, std::vector<float>* out, const BlockCapture& capture = {}) {
  const std::vector<float> x = part(data.x, first, count);
  out->assign(x.size(), 7.0f);
  input.tokens = count;
  return block.forward(out->data(), x.data(), input, capture);
}

}  // namespace

TEST_CASE("Chunks through a cache give what one call gives, and what is captured is the same", "[layers]") {
  Random random(1);
  const BlockData data(random, decoder(), 2, kTokens);
  const TransformerBlock block = data.block();
  RopePlan plan = planOf(ropeOptions(6, 6));
  SelfAttentionInput input = data.input();
  input.attention.causal = true;
  const size_t splits[][5] = {{9, 0, 0, 0, 0}, {1, 1, 1, 1, 5}, {4, 5, 0, 0, 0}, {2, 3, 1, 3, 0}};
  for (RopePlan* rope : {&plan, static_cast<RopePlan*>(nullptr)}) {
    for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
      for (const auto& chunks : splits) {
        for (const int64_t start : {int64_t{0}, int64_t{1000}}) {
          input.rope = rope;
          input.positions.offset = start;
          input.cache = nullptr;
          const std::vector<float> whole = data.forward(block, input);
          std::vector<float> whole_keys(2 * kTokens * 12);
          BlockCapture all;
          all.attention.k_rotated = whole_keys.data();
          std::vector<float> out(data.x.size());
          REQUIRE(block.forward(out.data(), data.x.data(), input, all) == Status::kOk);

          KvCache cache = cacheFor(rope, kept);
          input.cache = &cache;
          size_t first = 0;
          for (const size_t count : chunks) {
            if (count == 0) continue;
            input.positions.offset = start + static_cast<int64_t>(first);
            std::vector<float> keys(2 * count * 12);
            std::vector<float> scores(2 * 4 * count * (first + count));
            std::vector<float> content(scores.size());
            BlockCapture capture;
            capture.attention.k_rotated = keys.data();
            capture.attention.scores.probabilities = scores.data();
            capture.attention.scores.content = content.data();
            REQUIRE(forwardPart(block, data, input, first, count, &out, capture) == Status::kOk);
            CHECK(largestDifference(out, part(whole, first, count)) <= data.tolerance());
            for (size_t b = 0; b < 2; ++b) {
              CHECK(sameBits(keys.data() + b * count * 12, whole_keys.data() + (b * kTokens + first) * 12,
                             count * 12));
            }
            for (size_t row = 0; row < scores.size(); row += first + count) {
              double sum = 0;
              for (size_t j = 0; j < first + count; ++j) sum += static_cast<double>(scores[row + j]);
              CHECK(std::fabs(sum - 1) <= 16 * kUnit);
            }
            first += count;
            CHECK(cache.length() == first);
            CHECK(cache.nextPosition() == start + static_cast<int64_t>(first));
          }
        }
      }
    }
  }
}

TEST_CASE("Chunks, temperature and FIRE count from the first token of all, in a cache that has lost it",
          "[layers]") {
  Random random(7);
  const BlockData data(random, decoder(), 2, kTokens);
  const TransformerBlock block = data.block();
  std::vector<float> psi(kTokens);
  for (size_t i = 0; i < kTokens; ++i) psi[i] = 0.1f * static_cast<float>(i);
  // Growing, so that no hidden number of FIRE is cut off at 0.
  const std::vector<float> weights = {0.5f, 1, 1, 2, 3, 4, 5, 6};
  for (const int kind : {0, 1, 2}) {
    SelfAttentionInput input = data.input();
    input.attention.causal = true;
    input.attention.window_left = 2;
    if (kind == 0) input.attention.chunked = true;
    if (kind == 1) input.attention.temperature = {2, 3.0f};
    if (kind == 2) {
      input.attention.distance_bias = psi.data();
      input.attention.distance_first = 1 - static_cast<int64_t>(kTokens);
      input.attention.distance_count = kTokens;
      input.attention.fire = {
          0.1, 1, 1, weights.data(), weights.data() + 1, weights.data() + 2, weights.data() + 4};
    }
    INFO("kind " << kind);
    const std::vector<float> whole = data.forward(block, input);
    for (const size_t count : {size_t{1}, size_t{3}}) {
      KvCache cache = cacheFor(nullptr, CachedKeys::kPlain, {3, 0, false});
      input.cache = &cache;
      std::vector<float> out;
      for (size_t first = 0; first < kTokens; first += count) {
        input.positions.offset = cache.nextPosition();
        REQUIRE(forwardPart(block, data, input, first, count, &out) == Status::kOk);
        CHECK(largestDifference(out, part(whole, first, count)) <= data.tolerance());
      }
      CHECK(cache.length() < kTokens);
    }
    // Without a cache they count from the offset, as in an empty one.
    for (const int64_t start : {int64_t{-5}, int64_t{4}}) {
      CAPTURE(start);
      input.positions.offset = start;
      input.cache = nullptr;
      const std::vector<float> alone = data.forward(block, input);
      CHECK(largestDifference(alone, whole) > 0.001);
      KvCache cache = cacheFor(nullptr, CachedKeys::kPlain, {});
      input.cache = &cache;
      std::vector<float> out;
      REQUIRE(forwardPart(block, data, input, 0, kTokens, &out) == Status::kOk);
      CHECK(largestDifference(alone, out) <= data.tolerance());
    }
  }
}

TEST_CASE("A window of the cache is a window of the layer, and rebased ones stay close", "[layers]") {
  Random random(2);
  const BlockData data(random, decoder(), 2, kTokens);
  const TransformerBlock block = data.block();
  RopePlan plan = planOf(ropeOptions(6, 6));
  SelfAttentionInput input = data.input();
  input.rope = &plan;
  input.attention.causal = true;
  input.attention.window_left = 2;
  input.attention.sink_tokens = 1;
  const std::vector<float> whole = data.forward(block, input);
  KvCache cache = cacheFor(&plan, CachedKeys::kRotated, {3, 1, false});
  input.cache = &cache;
  std::vector<float> out;
  for (size_t first = 0; first < kTokens; ++first) {
    input.positions.offset = cache.nextPosition();
    REQUIRE(forwardPart(block, data, input, first, 1, &out) == Status::kOk);
    CHECK(largestDifference(out, part(whole, first, 1)) <= data.tolerance());
  }
  CHECK(cache.length() == 4);

  // Rebased: positions never pass the size of the window and its sink.
  KvCache rebased = cacheFor(&plan, CachedKeys::kRotated, {3, 1, true});
  input.cache = &rebased;
  for (size_t first = 0; first < kTokens; ++first) {
    input.positions.offset = rebased.nextPosition();
    REQUIRE(forwardPart(block, data, input, first, 1, &out) == Status::kOk);
    CHECK(rebased.nextPosition() <= 4);
  }
  // The last query reads the sink at 0 and the last three tokens at 1 ... 3.
  BlockData near = data;
  near.tokens = 4;
  near.x.clear();
  for (size_t b = 0; b < 2; ++b) {
    for (const size_t t : {size_t{0}, size_t{6}, size_t{7}, size_t{8}}) {
      const auto start = data.x.begin() + static_cast<std::ptrdiff_t>((b * kTokens + t) * kModel);
      near.x.insert(near.x.end(), start, start + static_cast<std::ptrdiff_t>(kModel));
    }
  }
  SelfAttentionInput close = near.input();
  close.rope = &plan;
  close.attention.causal = true;
  const std::vector<float> expected = near.forward(block, close);
  for (size_t b = 0; b < 2; ++b) {
    const std::vector<float> got(out.begin() + static_cast<std::ptrdiff_t>(b * kModel),
                                 out.begin() + static_cast<std::ptrdiff_t>((b + 1) * kModel));
    const auto start = expected.begin() + static_cast<std::ptrdiff_t>((b * 4 + 3) * kModel);
    const std::vector<float> last(start, start + static_cast<std::ptrdiff_t>(kModel));
    CHECK(largestDifference(got, last) <= data.tolerance());
  }
}

TEST_CASE("A call that a cache refuses leaves it, and out, as they were", "[layers]") {
  Random random(3);
  const BlockData data(random, decoder(), 2, kTokens);
  const TransformerBlock block = data.block();
  RopePlan plan = planOf(ropeOptions(6, 6));
  RopePlan other = planOf(ropeOptions(6, 4));
  KvCache cache = cacheFor(&plan);
  SelfAttentionInput good = data.input();
  good.rope = &plan;
  good.cache = &cache;
  good.attention.causal = true;
  std::vector<float> out;
  REQUIRE(forwardPart(block, data, good, 0, 4, &out) == Status::kOk);
  good.positions.offset = 4;

  const auto refuses = [&](Status expected, auto spoil) {
    SelfAttentionInput input = good;
    spoil(input);
    CHECK(forwardPart(block, data, input, 4, 3, &out) == expected);
    CHECK(std::all_of(out.begin(), out.end(), [](float v) { return v == 7.0f; }));
    CHECK(cache.length() == 4);
    CHECK(cache.nextPosition() == 4);
  };
  const int64_t gap[] = {4, 6, 7};
  const int64_t each[] = {4, 5, 6, 4, 5, 6};
  refuses(Status::kInvalidArgument, [&](SelfAttentionInput& in) { in.rope = &other; });
  refuses(Status::kInvalidArgument, [&](SelfAttentionInput& in) { in.rope = nullptr; });
  refuses(Status::kInvalidArgument, [&](SelfAttentionInput& in) { in.turn_values = true; });
  refuses(Status::kInvalidArgument, [&](SelfAttentionInput& in) { in.positions.offset = 3; });
  refuses(Status::kInvalidArgument, [&](SelfAttentionInput& in) { in.positions = {gap, false, 0}; });
  refuses(Status::kInvalidArgument, [&](SelfAttentionInput& in) { in.positions = {each, true, 0}; });
  refuses(Status::kPositionOutOfRange,
          [&](SelfAttentionInput& in) { in.positions.offset = kMaxPosition - 1; });
  const std::vector<float> expected = [&] {
    SelfAttentionInput alone = good;
    alone.cache = nullptr;
    alone.positions.offset = 0;
    alone.tokens = kTokens;
    return part(data.forward(block, alone), 4, 5);
  }();
  REQUIRE(forwardPart(block, data, good, 4, 5, &out) == Status::kOk);
  CHECK(largestDifference(out, expected) <= data.tolerance());
}

TEST_CASE("Tokens with places on several axes go through a cache", "[layers]") {
  Random random(4);
  const BlockData data(random, decoder(), 2, kTokens);
  const TransformerBlock block = data.block();
  RopeOptions options = ropeOptions(6, 6);
  options.axes = {AxisLayout::kSections, 3, {1, 1, 1}};
  RopePlan plan = planOf(options);
  std::vector<int64_t> places(3 * kTokens);
  for (int64_t& p : places) p = random.between(0, 40);
  SelfAttentionInput input = data.input();
  input.rope = &plan;
  input.attention.causal = true;
  input.positions = {places.data(), false, 0};
  const std::vector<float> whole = data.forward(block, input);
  KvCache cache = cacheFor(&plan);
  input.cache = &cache;
  std::vector<float> out;
  const size_t chunks[] = {4, 1, 4};
  size_t first = 0;
  for (const size_t count : chunks) {
    std::vector<int64_t> some;
    for (size_t a = 0; a < 3; ++a) {
      for (size_t t = 0; t < count; ++t) some.push_back(places[a * kTokens + first + t]);
    }
    input.positions = {some.data(), false, 0};
    REQUIRE(forwardPart(block, data, input, first, count, &out) == Status::kOk);
    CHECK(largestDifference(out, part(whole, first, count)) <= data.tolerance());
    first += count;
  }
  input.positions = {};
  CHECK(forwardPart(block, data, input, 0, 1, &out) == Status::kInvalidArgument);
}

}  // namespace ropewalk::test
