// Makes every allocation of every call fail once: the call must return kOutOfMemory, change nothing and leak
// nothing.
#include <utility>
#include <vector>

#include "analysis/sinusoid_algebra.h"
#include "attention/cache_data.h"
#include "attention/linear_recurrence.h"
#include "attention/naive_attention.h"
#include "attention/naive_linear_attention.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "encodings/sandwich.h"
#include "encodings/sinusoidal.h"
#include "failing_memory.h"
#include "kernels/gemm.h"
#include "layers/block_data.h"
#include "layers/embedding.h"
#include "layers/linear.h"
#include "layers/norm_layer.h"
#include "models/gguf_file.h"
#include "models/layer_stack.h"
#include "models/logits_head.h"
#include "models/safetensors_file.h"
#include "models/token_vectors.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// Calls once for each allocation that `call` makes, with that one failing, until none is left to fail;
// answers how many failed. `failed` is called after every failure.
template <class Call, class Failed>
size_t failEach(Call call, Failed failed) {
  for (size_t n = 0;; ++n) {
    failAllocationAfter(n);
    const Status status = call();
    if (!stopFailing()) {
      CHECK(status == Status::kOk);
      return n;
    }
    INFO("allocation " << n);
    CHECK(status == Status::kOutOfMemory);
    failed();
  }
}

// The same for what holds as much memory after a failure as before; `unchanged` is asked after every one.
template <class Call, class Unchanged>
size_t failEachAllocation(Call call, Unchanged unchanged) {
  size_t live = 0;
  const auto counted = [&] {
    live = liveAllocations();
    return call();
  };
  return failEach(counted, [&] {
    CHECK(liveAllocations() == live);
    CHECK(unchanged());
  });
}

std::vector<float> rotated(RopePlan& plan, const std::vector<float>& x, int64_t offset) {
  std::vector<float> out = x;
  REQUIRE(plan.rotate(headsFirst(out.data(), 1, 1, x.size() / plan.headDim(), plan.headDim()),
                      {nullptr, false, offset}) == Status::kOk);
  return out;
}

// For the keys and values of a block of BlockData.
KvCacheOptions optionsFor(RopePlan& plan, CachedKeys kept) {
  KvCacheOptions options;
  options.kv_heads = 2;
  options.head_dim = options.value_dim = 4;
  options.plan = &plan;
  options.keys = kept;
  return options;
}

}  // namespace

TEST_CASE("A buffer frees what it held when it allocates again or takes over another") {
  {
    Buffer<float> buffer;
    REQUIRE(buffer.allocate(3) == Status::kOk);
    REQUIRE(buffer.allocate(9) == Status::kOk);
    REQUIRE(buffer.reserve(10) == Status::kOk);
    CHECK(liveAllocations() == 1);
    Buffer<float> other;
    REQUIRE(other.allocate(1) == Status::kOk);
    buffer = std::move(other);
    CHECK(liveAllocations() == 1);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A plan that cannot be made for want of memory stays what it was") {
  Random random(1);
  const std::vector<float> x = random.floats(40 * 8);
  {
    RopePlan plan = planOf(ropeOptions(8, 8));
    const std::vector<float> before = rotated(plan, x, 0);
    RopePlan expected_plan = planOf(ropeOptions(8, 4));
    const std::vector<float> expected = rotated(expected_plan, x, 0);
    const size_t failures = failEachAllocation([&] { return plan.create(ropeOptions(8, 4)); },
                                               [&] { return sameBits(rotated(plan, x, 0), before); });
    CHECK(failures > 0);
    CHECK(plan.pairs() == 2);
    RopeOptions pixtral = ropeOptions(8, 8);
    pixtral.axes = {AxisLayout::kPixtral, 2, {}};
    CHECK(failEachAllocation([&] { return plan.create(pixtral); }, [&] { return plan.pairs() == 2; }) > 0);
    REQUIRE(plan.create(ropeOptions(8, 4)) == Status::kOk);
    CHECK(sameBits(rotated(plan, x, 0), expected));
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A cache that cannot grow is no error and changes no bit") {
  Random random(2);
  const std::vector<float> x = random.floats(70 * 8);
  {
    RopePlan reference = planOf(ropeOptions(8, 8));
    RopePlan plan = planOf(ropeOptions(8, 8));
    for (const int64_t offset : {0, 70, 140}) {
      failAllocationAfter(0);
      const std::vector<float> out = rotated(plan, x, offset);
      CHECK(stopFailing());
      CHECK(sameBits(out, rotated(reference, x, offset)));
      CHECK(sameBits(rotated(plan, x, offset), out));  // now it grows
    }
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("Keys that cannot be moved for want of memory stay where they were") {
  Random random(8);
  {
    RopePlan plan = planOf(ropeOptions(8, 8));
    RopePlan target = planOf(ropeOptions(8, 8, Pairing::kInterleaved));
    const std::vector<float> before = random.floats(4 * 8);
    std::vector<float> x = before;
    const size_t failures = failEachAllocation(
        [&] { return plan.rerotate(headsFirst(x.data(), 1, 1, 4, 8), {}, target, {nullptr, false, 5}); },
        [&] { return sameBits(x, before); });
    CHECK(failures > 0);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A sinusoidal table that cannot be made for want of memory leaves out as it was") {
  const SinusoidalOptions options = {10, 10000, SinusoidLayout::kInterleaved, 1};
  const std::vector<int64_t> positions = {0, 1, 2};
  std::vector<float> expected(30);
  REQUIRE(sinusoidal(options, positions.data(), 3, expected.data()) == Status::kOk);
  std::vector<float> out(30, 7.0f);
  const size_t failures =
      failEachAllocation([&] { return sinusoidal(options, positions.data(), 3, out.data()); },
                         [&] { return out == std::vector<float>(30, 7.0f); });
  CHECK(failures > 0);
  CHECK(sameBits(out, expected));
  CHECK(liveAllocations() == 0);
}

TEST_CASE("Tables of distances that cannot be made for want of memory leave out as it was") {
  const auto failuresOf = [](size_t n, auto call) {
    std::vector<float> out(n, 7.0f);
    const size_t failures = failEachAllocation([&] { return call(out.data()); },
                                               [&] { return out == std::vector<float>(n, 7.0f); });
    CHECK(out != std::vector<float>(n, 7.0f));
    return failures;
  };
  CHECK(failuresOf(2 * 3 * 4, [](float* out) { return sandwichBias({2, 8, 10000, 3, 4, 1}, out); }) == 3);
  CHECK(failuresOf(
            64, [](float* out) { return shiftMatrix(8, 10000, SinusoidLayout::kInterleaved, 3, out); }) == 2);
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A matrix that cannot be packed for want of memory leaves the packed one as it was") {
  Random random(3);
  const std::vector<float> w = random.floats(12);
  const std::vector<float> a = random.floats(6);
  {
    const auto product = [&](const PackedMatrix& packed) {
      std::vector<float> out(packed.rows());
      gemm(out.data(), packed.rows(), a.data(), packed.columns(), packed, 1);
      return out;
    };
    PackedMatrix packed;
    REQUIRE(packed.pack(WeightType::kFloat32, w.data(), 2, 6, WeightType::kFloat32) == Status::kOk);
    const std::vector<float> before = product(packed);
    PackedMatrix other;
    REQUIRE(other.pack(WeightType::kFloat32, w.data(), 4, 3, WeightType::kInt8) == Status::kOk);
    const size_t failures = failEachAllocation(
        [&] { return packed.pack(WeightType::kFloat32, w.data(), 4, 3, WeightType::kInt8); },
        [&] { return packed.columns() == 6 && sameBits(product(packed), before); });
    CHECK(failures > 0);
    CHECK(sameBits(product(packed), product(other)));
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("Rows that cannot be added for want of memory leave the sum as it was") {
  {
    PackedMatrix table;
    const std::vector<float> weights(20, 2.0f);
    REQUIRE(table.pack(WeightType::kFloat32, weights.data(), 4, 5, WeightType::kFloat16) == Status::kOk);
    const int64_t id = 3;
    std::vector<float> sum(5, 1.0f);
    CHECK(failEachAllocation([&] { return embed(sum.data(), table, &id, 1, 1, true); },
                             [&] { return sum == std::vector<float>(5, 1.0f); }) == 1);
    CHECK(sum == std::vector<float>(5, 3.0f));
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A linear map that cannot be made for want of memory stays what it was") {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};
  const LinearWeights weights = {WeightType::kFloat32, w.data(), WeightLayout::kOutIn, WeightType::kFloat32,
                                 w.data()};
  const std::vector<float> in = {1, 1, 1};
  {
    Linear linear;
    REQUIRE(linear.create(weights, 1, 3) == Status::kOk);
    const auto result = [&] {
      std::vector<float> out(linear.weight().rows());
      linear.apply(out.data(), in.data(), 1);
      return out;
    };
    const size_t failures =
        failEachAllocation([&] { return linear.create(weights, 2, 3, WeightType::kInt8); },
                           [&] { return result() == std::vector<float>{7}; });
    CHECK(failures == 2);  // weights with their scales, bias
    CHECK(result().size() == 2);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("Attention without memory leaves its results as they were") {
  Random random(4);
  AttentionData data(random, {2, 4, 2, 3, 5, 6, 7});
  AttentionData expected = data;
  REQUIRE(expected.run(scaled(6)) == Status::kOk);
  const AttentionData before = data;
  const size_t failures = failEachAllocation(
      [&] { return data.run(scaled(6)); },
      [&] { return sameBits(data.out, before.out) && sameBits(data.probabilities, before.probabilities); });
  CHECK(failures > 0);
  CHECK(sameBits(data.out, expected.out));
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A state of linear attention without memory stays what it was") {
  Random random(9);
  {
    const LinearCase c;
    LinearData data(random, {2, 4, 2, 3, 3, 4, 5});
    LinearAttentionState state;
    const LinearStateShape shape = {2, 2, 4, 5};
    CHECK(failEachAllocation([&] { return state.create(c.options, shape); },
                             [&] { return state.bytes() == 0; }) > 0);
    std::vector<unsigned char> before(state.bytes());
    state.save(before.data());
    const std::vector<float> out = data.out;
    // Room that was made before a failure is kept, so that each attempt gets one allocation further.
    size_t failures = 0;
    for (;; ++failures) {
      failAllocationAfter(1);
      const Status status = state.append(data.input(c), data.output());
      if (!stopFailing()) {
        CHECK(status == Status::kOk);
        break;
      }
      CHECK(status == Status::kOutOfMemory);
      std::vector<unsigned char> now(state.bytes());
      state.save(now.data());
      CHECK(now == before);
      CHECK(sameBits(data.out, out));
    }
    CHECK(failures > 2);
    // A step of the same size finds all its room there.
    failAllocationAfter(0);
    CHECK(state.append(data.input(c), data.output()) == Status::kOk);
    CHECK(!stopFailing());
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A recurrence without memory leaves its results as they were") {
  Random random(10);
  const std::vector<float> x = random.floats(2 * 3 * 4);
  const std::vector<float> beta = random.floats(2 * 3);
  for (const UpdateRule rule : {UpdateRule::kLinear, UpdateRule::kDelta}) {
    LinearRecurrenceInput in;
    in.rule = rule;
    in.q = in.k = in.v = headsFirst(x.data(), 1, 2, 3, 4);
    if (rule == UpdateRule::kDelta) in.beta = headsFirst(beta.data(), 1, 2, 3, 1);
    std::vector<float> out(x.size(), 7.0f);
    std::vector<float> present(2 * 4 * 4, 7.0f);
    const std::vector<float> out_before = out;
    const std::vector<float> present_before = present;
    const size_t failures = failEachAllocation(
        [&] { return linearRecurrence(in, headsFirst(out.data(), 1, 2, 3, 4), present.data()); },
        [&] { return sameBits(out, out_before) && sameBits(present, present_before); });
    CHECK(failures > 0);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A growing cache fills nine tenths of what memory there is, and then stays as it was") {
  constexpr size_t kMemory = size_t{40} << 20;
  Random random(24);
  const std::vector<float> row = random.floats(64);
  const auto rowsOf = [&](size_t count) {
    return HeadView<const float>{row.data(), 1, 4, count, 64, 0, 0, 0};
  };
  for (const WeightType storage : {WeightType::kFloat32, WeightType::kQ8_0}) {
    KvCacheOptions options;
    options.kv_heads = 4;
    options.head_dim = 64;
    options.value_dim = 64;
    options.storage = storage;
    KvCache cache = cacheOf(options);
    limitMemory(kMemory);
    size_t appended = 0;
    Status status = Status::kOk;
    for (size_t count = 1000; count > 0;) {
      status = cache.append(rowsOf(count), rowsOf(count));
      appended += status == Status::kOk ? count : 0;
      if (status != Status::kOk) count /= 2;
    }
    limitMemory(SIZE_MAX);
    CHECK(status == Status::kOutOfMemory);
    CHECK(cache.length() == appended);
    CHECK(cache.nextPosition() == static_cast<int64_t>(appended));
    CHECK(cache.bytes() > kMemory / 10 * 9);
    CHECK(cache.bytes() <= kMemory);
    const std::vector<float> values = valuesOf(cache);
    CHECK(sameBits(values.data(), values.data() + values.size() - 64, 64));
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A cache without memory for what it is told to do stays as it was") {
  Random random(9);
  {
    const Tokens tokens(random, 40);
    RopePlan plan = planOf(ropeOptions(kDim, kDim));
    RopePlan other_plan = planOf(ropeOptions(kDim, kDim, Pairing::kInterleaved));
    RopePlan third_plan = planOf(ropeOptions(kDim, kDim));
    KvCacheOptions options = cacheOptions(&plan);
    options.window = {5, 1, false};
    rotated(plan, std::vector<float>(100 * kDim), 0);  // the plan's own rows are there from here on
    KvCache cache;
    CHECK(failEachAllocation([&] { return cache.create(options); },
                             [&] { return cache.bytes() == 0 && cache.plan() == nullptr; }) > 0);
    REQUIRE(tokens.appendTo(cache, 0, 16) == Status::kOk);
    REQUIRE(cache.shift(3, 13, 5) == Status::kOk);
    Snapshot before = snapshotOf(cache);
    const auto unchanged = [&] { return snapshotOf(cache) == before; };

    // The sink and 4 tokens stay visible to the 40 that come.
    CHECK(failEachAllocation([&] { return tokens.appendTo(cache, 0, 40); }, unchanged) > 0);
    CHECK(cache.length() == 45);
    before = snapshotOf(cache);
    CHECK(failEachAllocation([&] { return cache.switchTo(&other_plan); }, unchanged) > 0);
    before = snapshotOf(cache);

    KvCache other = cacheOf(cacheOptions(&third_plan));
    REQUIRE(tokens.appendTo(other, 0, 40) == Status::kOk);
    CHECK(failEachAllocation([&] { return cache.merge(other, 0, 40); }, unchanged) > 0);
    before = snapshotOf(cache);

    KvCache copy;
    CHECK(failEachAllocation([&] { return cache.copyPrefix(cache.length(), &copy); },
                             [&] { return copy.length() == 0 && unchanged(); }) > 0);
    REQUIRE(cache.shift(0, cache.length(), 1) == Status::kOk);
    REQUIRE(cache.shift(0, cache.length(), -1) == Status::kOk);
    std::vector<uint8_t> bytes(cache.savedSize());
    cache.save(bytes.data());
    RopePlan* const plans[] = {&plan, &other_plan, &third_plan};
    KvCache victim = cacheOf(cacheOptions());
    CHECK(failEachAllocation([&] { return victim.restore(bytes.data(), bytes.size(), plans, 3); },
                             [&] { return victim.length() == 0 && victim.plan() == nullptr; }) > 0);
    CHECK(snapshotOf(victim).keys == before.keys);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("Reading a cache without memory changes neither it nor the results") {
  Random random(10);
  {
    const Tokens tokens(random, 10);
    RopePlan plan = planOf(ropeOptions(kDim, kDim));
    for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
      KvCache cache = cacheOf(cacheOptions(&plan, kept));
      REQUIRE(tokens.appendTo(cache, 0, 10) == Status::kOk);
      REQUIRE(cache.shift(0, 10, 3) == Status::kOk);
      const std::vector<int64_t> positions = positionsOf(cache);
      const std::vector<float> values = valuesOf(cache);
      std::vector<float> out(kBatch * kHeads * kValueDim, 7.0f);
      std::vector<float> content(kBatch * kHeads * 10, 7.0f);
      ScoreOutputs scores;
      scores.content = content.data();
      const std::vector<float> out_before = out;
      const std::vector<float> content_before = content;
      const size_t live = liveAllocations();
      size_t failures = 0;
      bool failed = true;
      while (failed) {
        failAllocationAfter(failures);
        const Status status = cache.attend(headsFirst(out.data(), kBatch, kHeads, 1, kValueDim),
                                           {tokens.queries(9, 1), true, false}, scaled(kDim), scores);
        failed = stopFailing();
        if (!failed) {
          CHECK(status == Status::kOk);
          continue;
        }
        ++failures;
        // The plan may do without its rows; nobody else does without memory.
        if (status == Status::kOk) continue;
        CHECK(status == Status::kOutOfMemory);
        CHECK(sameBits(out, out_before));
        CHECK(sameBits(content, content_before));
        CHECK(positionsOf(cache) == positions);
        CHECK(sameBits(valuesOf(cache), values));
        CHECK(liveAllocations() <=
              live + 2);  // keys that were turned before are kept: a page and the list of it
      }
      CHECK(failures > 3);
      CHECK(attended(cache, tokens.queries(9, 1)).size() == out.size());
    }
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A norm layer that cannot be made for want of memory stays what it was") {
  const std::vector<float> weight = {2, 2};
  {
    NormLayer norm;
    REQUIRE(norm.create({NormKind::kRms, 2, 1e-6, false}, {WeightType::kFloat32, weight.data()}) ==
            Status::kOk);
    const NormWeights weights = {WeightType::kFloat32, weight.data(), WeightType::kFloat32, weight.data()};
    const size_t failures =
        failEachAllocation([&] { return norm.create({NormKind::kLayer, 2, 1, false}, weights); },
                           [&] { return norm.kind() == NormKind::kRms && norm.bytes() == 8; });
    CHECK(failures == 2);
    CHECK(norm.bytes() == 16);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A block without memory for its stages leaves its result as it was") {
  Random random(6);
  for (const NormPlacement place :
       {NormPlacement::kPost, NormPlacement::kPre, NormPlacement::kSandwich, NormPlacement::kParallel}) {
    BlockShape shape;
    shape.place = place;
    const BlockData data(random, shape, 2, 3);
    const TransformerBlock block = data.block();
    RopePlan plan = planOf(ropeOptions(4, 4));
    SelfAttentionInput input = data.input();
    input.rope = &plan;
    const std::vector<float> expected = data.forward(block, input);  // the plan's cache is full from here on
    std::vector<float> out(data.x.size(), 7.0f);
    std::vector<float> x = data.x;
    const size_t failures =
        failEachAllocation([&] { return block.forward(out.data(), data.x.data(), input); },
                           [&] { return out == std::vector<float>(data.x.size(), 7.0f); });
    CHECK(failures >= 3);
    CHECK(sameBits(out, expected));
    CHECK(failEachAllocation([&] { return block.forward(x.data(), x.data(), input); },
                             [&] { return sameBits(x, data.x); }) == failures);
    CHECK(sameBits(x, expected));
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A block without memory leaves its cache as it was") {
  Random random(11);
  for (const auto& [kept, storage] : {std::pair{CachedKeys::kRotated, WeightType::kFloat32},
                                      {CachedKeys::kUnrotated, WeightType::kFloat32},
                                      {CachedKeys::kUnrotated, WeightType::kFloat16}}) {
    const BlockData data(random, {}, 1, 3);
    const TransformerBlock block = data.block();
    RopePlan plan = planOf(ropeOptions(4, 4));
    rotated(plan, std::vector<float>(100 * 4), 0);  // the plan's own rows are there from here on
    KvCacheOptions options = optionsFor(plan, kept);
    options.storage = storage;
    KvCache cache = cacheOf(options);
    SelfAttentionInput input = data.input();
    input.rope = &plan;
    input.cache = &cache;
    input.attention.causal = true;
    std::vector<float> out(data.x.size(), 7.0f);
    for (const size_t length : {size_t{0}, size_t{3}, size_t{23}}) {  // from 20 on, after a gap
      input.positions.offset = length == 23 ? 20 : static_cast<int64_t>(length);
      const size_t before = cache.length();
      std::fill(out.begin(), out.end(), 7.0f);
      // Room that was made before a failure is kept: what is unchanged is the tokens.
      const size_t failures = failEach([&] { return block.forward(out.data(), data.x.data(), input); },
                                       [&] {
                                         CHECK(cache.length() == before);
                                         CHECK(out == std::vector<float>(data.x.size(), 7.0f));
                                       });
      CHECK(failures >= 3);
      CHECK(cache.length() == before + 3);
    }
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A block without memory takes back its tokens where others have left a window") {
  Random random(13);
  for (const bool rebased : {false, true}) {
    const BlockData data(random, {}, 1, 3);
    const TransformerBlock block = data.block();
    RopePlan plan = planOf(ropeOptions(4, 4));
    rotated(plan, std::vector<float>(100 * 4), 0);  // the plan's own rows are there from here on
    KvCacheOptions options = optionsFor(plan, CachedKeys::kRotated);
    options.window = {4, 1, rebased};
    KvCache spared = cacheOf(options);
    KvCache cache = cacheOf(options);
    SelfAttentionInput input = data.input();
    input.rope = &plan;
    input.attention.causal = true;
    std::vector<float> expected(data.x.size());
    std::vector<float> out(data.x.size());
    for (size_t pass = 0; pass < 4; ++pass) {
      input.cache = &spared;
      input.positions.offset = spared.nextPosition();
      REQUIRE(block.forward(expected.data(), data.x.data(), input) == Status::kOk);
      input.cache = &cache;
      int64_t next = 0;
      const auto forward = [&] {
        next = cache.nextPosition();
        input.positions.offset = next;
        return block.forward(out.data(), data.x.data(), input);
      };
      const size_t failures = failEach(forward, [&] {
        CHECK(cache.nextPosition() <= next);
        CHECK((rebased || cache.nextPosition() == next));
      });
      CHECK(failures >= 3);
      CHECK(cache.length() == spared.length());
      CHECK(cache.nextPosition() == spared.nextPosition());
      CHECK(sameBits(out, expected));
    }
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A layer whose plan cannot cache gives the same bits") {
  Random random(7);
  const BlockData data(random, {}, 1, 3);
  const SelfAttention layer = data.attention();
  RopePlan reference = planOf(ropeOptions(4, 4));
  SelfAttentionInput input = data.input();
  input.rope = &reference;
  const std::vector<float> expected = data.forward(layer, input);
  size_t survived = 0;
  bool failed = true;
  for (size_t n = 0; failed; ++n) {
    RopePlan plan = planOf(ropeOptions(4, 4));
    input.rope = &plan;
    std::vector<float> out(data.x.size());
    failAllocationAfter(n);
    const Status status = layer.forward(out.data(), data.x.data(), input);
    failed = stopFailing();
    INFO("allocation " << n);
    if (failed && status == Status::kOutOfMemory) continue;
    CHECK(status == Status::kOk);
    CHECK(sameBits(out, expected));
    survived += failed;
  }
  CHECK(survived > 0);
}

TEST_CASE(
    "A model's token vectors, layers and logits without memory lose nothing, and the next try gives them") {
  Random random(12);
  {
    const MatrixData map(random, 8, 8, true);
    PackedMatrix table;
    REQUIRE(table.pack(WeightType::kFloat32, map.weight.data(), 8, 8, WeightType::kFloat32) == Status::kOk);
    const auto nothing = [] { return true; };

    TokenTables tables;
    REQUIRE(tables.types.pack(WeightType::kFloat32, map.weight.data(), 8, 8, WeightType::kFloat16) ==
            Status::kOk);
    tables.tokens = std::move(table);
    tables.projection = map.linear(WeightType::kFloat32);
    TokenVectors vectors;
    REQUIRE(vectors.create(1, std::move(tables)) == Status::kOk);
    const std::vector<int64_t> ids = {3, 0, 7};
    std::vector<float> x(24);
    CHECK(failEachAllocation([&] { return vectors.embed(x.data(), {1, 3, ids.data()}); }, nothing) == 3);

    HeadParts parts;
    parts.transform = map.linear(WeightType::kFloat32);
    LogitsHead head;
    REQUIRE(head.create({}, std::move(parts), &vectors.tokens()) == Status::kOk);
    std::vector<float> logits(24);
    CHECK(failEachAllocation([&] { return head.apply(logits.data(), x.data(), 3); }, nothing) == 1);

    const BlockData data(random, {}, 1, 3);
    const TransformerBlock block = data.block();
    LayerStack stack;
    CHECK(failEachAllocation([&] { return stack.create(2); }, [&] { return stack.size() == 0; }) == 1);
    for (size_t i = 0; i < 2; ++i) stack.set(i, {&block, nullptr, false, data.input().attention});
    StackInput input;
    input.batch = 1;
    input.tokens = 3;
    std::vector<float> expected = x;
    REQUIRE(stack.forward(expected.data(), 0, 2, input) == Status::kOk);
    std::vector<float> row = x;
    const auto again = [&] {
      row = x;
      return stack.forward(row.data(), 0, 2, input);
    };
    CHECK(failEachAllocation(again, nothing) >= 6);
    CHECK(sameBits(row, expected));
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("A header that cannot be held for want of memory leaves the one before") {
  {
    const std::string tensors = "{" + tensorText("a", "F32", "2,2", 0, 16) + "}";
    const std::string more = "{\"__metadata__\":{\"k\":\"v\"}," + tensorText("b", "U8", "3", 0, 3) + "}";
    SafetensorsHeader header;
    SafetensorsFault fault;
    REQUIRE(openFile(fileOf(tensors, std::string(16, 'd')), header, &fault) == Status::kOk);
    const size_t failures =
        failEachAllocation([&] { return header.parse(more.data(), more.size(), 3, &fault); },
                           [&] { return header.size() == 1 && header.dataBytes() == 16; });
    CHECK(failures == 5);
    CHECK(header.dataBytes() == 3);
    CHECK(header.metadata().size() == 1);
    const std::string index = R"({"weight_map":{"a":"x"}})";
    TextMap map;
    CHECK(failEachAllocation([&] { return readWeightMap(index.data(), index.size(), &map, &fault); },
                             [&] { return map.size() == 0; }) == 2);
    CHECK(map.size() == 1);
  }
  CHECK(liveAllocations() == 0);
}

TEST_CASE("Without memory a GGUF header stays as it was, and a header that is refused allocates nothing") {
  {
    GgufParts parts;
    parts.entries = {ggufEntry("n", 4, le(7u))};
    parts.tensors = {ggufTensor("a", {3}, 0, 0)};
    const std::string file = ggufFile(parts, 12);
    parts.tensors.push_back(ggufTensor("b", {3}, 0, 32));
    const std::string more = ggufFile(parts, 44);
    GgufHeader header;
    GgufFault fault;
    REQUIRE(header.parse(file.data(), file.size(), file.size(), &fault) == Status::kOk);
    CHECK(failEachAllocation([&] { return header.parse(more.data(), more.size(), more.size(), &fault); },
                             [&] { return header.size() == 1 && header.entryCount() == 1; }) == 2);
    CHECK(header.size() == 2);

    failAllocationAfter(0);
    for (size_t size = 0; size < ggufHeader(parts).size(); ++size) {
      CHECK(header.parse(more.data(), size, size, &fault) == Status::kInvalidArgument);
    }
    CHECK_FALSE(stopFailing());
  }
  CHECK(liveAllocations() == 0);
}

}  // namespace ropewalk::test
