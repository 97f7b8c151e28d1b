#include <limits>
#include <vector>

#include "attention/attention.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr AttentionShape kShape = {2, 4, 2, 7, 11, 8, 6};

void checkAgainstNaive(AttentionData& data, const AttentionOptions& options) {
  REQUIRE(data.run(options) == Status::kOk);
  CHECK(data.errorShare(options) <= 1);
}

std::vector<float> scoresOf(AttentionData& data, const AttentionOptions& options, ScoreOutputs outputs,
                            float* ScoreOutputs::* stage, size_t heads) {
  const AttentionShape& s = data.shape;
  std::vector<float> scores(s.batch * heads * s.queries * s.keys, kNaN);
  outputs.*stage = scores.data();
  REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), options, outputs) ==
          Status::kOk);
  return scores;
}

}  // namespace

TEST_CASE("A window hides keys by their distance from the query, sink tokens apart", "[attention]") {
  Random random(1);
  AttentionData data(random, kShape);
  for (const int64_t left : {-1, 0, 1, 3, 100}) {
    for (const int64_t right : {-1, 0, 2, 100}) {
      for (const int64_t offset : {0, 4, -3, 40}) {
        for (const size_t sink_tokens : {size_t{0}, size_t{2}, size_t{50}}) {
          AttentionOptions options = scaled(kShape.dim);
          options.window_left = left;
          options.window_right = right;
          options.query_offset = offset;
          options.sink_tokens = sink_tokens;
          INFO("left " << left << ", right " << right << ", offset " << offset << ", sinks " << sink_tokens);
          checkAgainstNaive(data, options);
          options.causal = true;
          checkAgainstNaive(data, options);
        }
      }
    }
  }
}

TEST_CASE("Chunks hide the keys before the query's own, wherever positions begin", "[attention]") {
  Random random(5);
  AttentionData data(random, kShape);
  const std::vector<int64_t> positions = {-9, -4, -3, 0, 1, 2, 3, 4, 9, 1000, 1001};
  for (const int64_t size : {1, 2, 3, 4, 100}) {
    for (const int64_t offset : {0, 4, -9, 996}) {
      for (const bool apart : {false, true}) {
        AttentionOptions options = scaled(kShape.dim);
        options.causal = true;
        options.window_left = size - 1;
        options.chunked = true;
        options.query_offset = offset;
        if (apart) options.key_positions = positions.data();
        INFO("size " << size << ", offset " << offset << ", apart " << apart);
        checkAgainstNaive(data, options);
        options.sink_tokens = 2;
        checkAgainstNaive(data, options);
      }
    }
  }
}

TEST_CASE("A temperature multiplies queries by a factor of their position, in all stages of scores",
          "[attention]") {
  Random random(6);
  AttentionData data(random, kShape);
  for (const int64_t step : {1, 3, 8192}) {
    for (const int64_t offset : {int64_t{0}, int64_t{-5}, int64_t{20000}, int64_t{1} << 52}) {
      AttentionOptions options = scaled(kShape.dim);
      options.query_offset = offset;
      options.temperature = {step, 0.25f};
      INFO("step " << step << ", offset " << offset);
      checkAgainstNaive(data, options);
      const auto raw = scoresOf(data, options, {}, &ScoreOutputs::raw, kShape.heads);
      const auto content = scoresOf(data, options, {}, &ScoreOutputs::content, kShape.heads);
      CHECK(sameBits(raw, content));
    }
  }
}

TEST_CASE("The published window of one key before and two behind mixes what it says", "[attention]") {
  // ONNX HEAD: q = k = 0, v = 0 .. 4, left 1, right 2
  const std::vector<float> zeros(5, 0.0f);
  const std::vector<float> v = {0, 1, 2, 3, 4};
  std::vector<float> out(5);
  AttentionOptions options = scaled(1);
  options.window_left = 1;
  options.window_right = 2;
  REQUIRE(attention(headsFirst(out.data(), 1, 1, 5, 1), headsFirst(zeros.data(), 1, 1, 5, 1),
                    headsFirst(zeros.data(), 1, 1, 5, 1), headsFirst(v.data(), 1, 1, 5, 1),
                    options) == Status::kOk);
  CHECK(out == std::vector<float>{1.0f, 1.5f, 2.5f, 3.0f, 3.5f});
}

TEST_CASE("Keys may stand anywhere in ascending order, and queries of each batch apart", "[attention]") {
  Random random(2);
  AttentionData data(random, kShape);
  const std::vector<int64_t> positions = {0, 1, 2, 3, 40, 41, 42, 43, 44, 1000, 1001};
  const std::vector<int64_t> offsets = {38, 995};
  for (const bool causal : {false, true}) {
    for (const int64_t left : {-1, 2, 500}) {
      AttentionOptions options = scaled(kShape.dim);
      options.key_positions = positions.data();
      options.query_offsets = offsets.data();
      options.causal = causal;
      options.window_left = left;
      options.sink_tokens = 3;
      INFO("causal " << causal << ", left " << left);
      checkAgainstNaive(data, options);
    }
  }
}

TEST_CASE("Padding keys are hidden by the length of each batch", "[attention]") {
  Random random(3);
  AttentionData data(random, kShape);
  const std::vector<int64_t> lengths = {4, 11};
  AttentionOptions options = scaled(kShape.dim);
  options.key_lengths = lengths.data();
  checkAgainstNaive(data, options);
  const std::vector<int64_t> none = {0, 7};
  options.key_lengths = none.data();
  checkAgainstNaive(data, options);
  CHECK(data.out[0] == 0);
}

TEST_CASE("A softcap bounds the scores before masks and biases", "[attention]") {
  Random random(4);
  AttentionData data(random, kShape);
  std::vector<float> bias = random.floats(kShape.keys, 2);
  bias[3] = -kInfinity;
  for (const float softcap : {0.1f, 2.0f, 50.0f}) {
    AttentionOptions options = scaled(kShape.dim);
    options.softcap = softcap;
    options.bias = {bias.data(), 0, 0, 0, 1};
    INFO("softcap " << softcap);
    checkAgainstNaive(data, options);
    const std::vector<float> raw = scoresOf(data, options, {}, &ScoreOutputs::raw, kShape.heads);
    const std::vector<float> capped = scoresOf(data, options, {}, &ScoreOutputs::capped, kShape.heads);
    Worst worst;
    for (size_t n = 0; n < raw.size(); ++n) {
      worst.add(capped[n], softcap * std::tanh(static_cast<double>(raw[n]) / softcap), 4 * kUnit * softcap);
    }
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("A sink takes its share of each row and gives nothing", "[attention]") {
  Random random(5);
  AttentionData data(random, kShape);
  const std::vector<float> sinks = {0, 3, -2, -kInfinity};
  AttentionOptions options = scaled(kShape.dim);
  options.sinks = sinks.data();
  checkAgainstNaive(data, options);
  options.causal = true;
  options.query_offset = -2;  // the first rows see the sink alone
  checkAgainstNaive(data, options);
  for (size_t d = 0; d < kShape.value_dim; ++d) CHECK(data.outView().row(0, 1, 0)[d] == 0);
}

TEST_CASE("A bias by ranges of distances is that of one table with gaps among the keys", "[attention]") {
  Random random(16);
  AttentionData data(random, kShape);
  std::vector<int64_t> positions(kShape.keys);
  for (size_t j = 0; j < kShape.keys; ++j) positions[j] = static_cast<int64_t>(j + j / 3 * 5);
  const auto queries = static_cast<int64_t>(kShape.queries);
  AttentionOptions options = scaled(kShape.dim);
  options.key_positions = positions.data();
  options.query_offset = positions.back() + 1 - queries;
  options.distance_first = positions.front() - (options.query_offset + queries - 1);
  const int64_t count = positions.back() - options.query_offset - options.distance_first + 1;
  options.distance_count = static_cast<size_t>(count);
  const std::vector<float> dense = random.floats(kShape.heads * options.distance_count);
  options.distance_bias = dense.data();
  REQUIRE(data.run(options) == Status::kOk);
  const std::vector<float> expected = data.out;

  std::vector<DistanceRange> ranges;
  std::vector<float> parts;
  for (int64_t first = 0; first < count; first += 7) {
    const int64_t size = std::min<int64_t>(7, count - first);
    ranges.push_back({options.distance_first + first, size, static_cast<int64_t>(parts.size())});
    for (size_t h = 0; h < kShape.heads; ++h) {
      const float* row = dense.data() + h * options.distance_count + first;
      parts.insert(parts.end(), row, row + size);
    }
  }
  options.distance_bias = parts.data();
  options.distance_ranges = ranges.data();
  options.distance_range_count = ranges.size();
  REQUIRE(data.run(options) == Status::kOk);
  CHECK(sameBits(data.out, expected));
}

TEST_CASE("Content and position scores add up to what the softmax sees", "[attention]") {
  Random random(6);
  AttentionData data(random, kShape);
  const std::vector<float> table = random.floats(7 * kShape.dim);
  const std::vector<float> distances = random.floats(kShape.heads * (kShape.queries + kShape.keys - 1));
  AttentionOptions options = scaled(kShape.dim);
  options.relative.rows = {3, true};
  options.relative.query_table = table.data();
  setDistanceBias(options, kShape, distances);
  const auto scores = [&](float* ScoreOutputs::* stage) {
    return scoresOf(data, options, {}, stage, kShape.heads);
  };
  const std::vector<float> content = scores(&ScoreOutputs::content);
  const std::vector<float> position = scores(&ScoreOutputs::position);
  const std::vector<float> biased = scores(&ScoreOutputs::biased);
  Worst worst;
  for (size_t n = 0; n < content.size(); ++n) {
    worst.add(content[n] + position[n], biased[n], 16 * kUnit * 12);
  }
  CHECK(worst.share() <= 1);
  AttentionOptions plain = scaled(kShape.dim);
  CHECK(sameBits(scoresOf(data, plain, {}, &ScoreOutputs::raw, kShape.heads), content));
}

TEST_CASE("Content is that of the queries and keys before they were turned", "[attention]") {
  Random random(7);
  AttentionData data(random, kShape);
  AttentionData turned(random, kShape);
  ScoreOutputs outputs;
  outputs.plain_q = data.queryView();
  outputs.plain_k = data.keyView();
  const AttentionOptions options = scaled(kShape.dim);
  const auto of = [&](AttentionData& from, const ScoreOutputs& base, float* ScoreOutputs::* stage) {
    return scoresOf(from, options, base, stage, kShape.heads);
  };
  CHECK(sameBits(of(turned, outputs, &ScoreOutputs::content), of(data, {}, &ScoreOutputs::raw)));
  const std::vector<float> raw = of(turned, {}, &ScoreOutputs::raw);
  const std::vector<float> content = of(turned, outputs, &ScoreOutputs::content);
  const std::vector<float> position = of(turned, outputs, &ScoreOutputs::position);
  for (size_t n = 0; n < raw.size(); ++n) CHECK(position[n] == raw[n] - content[n]);
}

TEST_CASE("Scores of chosen heads are those among all", "[attention]") {
  Random random(8);
  AttentionData data(random, kShape);
  const std::vector<int32_t> slots = {1, -1, -1, 0};
  ScoreOutputs outputs;
  outputs.slots = slots.data();
  outputs.slot_count = 2;
  const AttentionOptions options = scaled(kShape.dim);
  const std::vector<float> chosen = scoresOf(data, options, outputs, &ScoreOutputs::raw, 2);
  const std::vector<float> all = scoresOf(data, options, {}, &ScoreOutputs::raw, kShape.heads);
  constexpr size_t kHead = kShape.queries * kShape.keys;
  for (size_t b = 0; b < kShape.batch; ++b) {
    CHECK(sameBits(&chosen[b * 2 * kHead], &all[(b * 4 + 3) * kHead], kHead));
    CHECK(sameBits(&chosen[(b * 2 + 1) * kHead], &all[b * 4 * kHead], kHead));
  }
}

TEST_CASE("NaN in a key beyond the window is not met, and a NaN query stays in its row", "[attention]") {
  Random random(9);
  AttentionData data(random, kShape);
  AttentionOptions options = scaled(kShape.dim);
  options.query_offset = 4;
  options.window_left = 3;
  options.causal = true;
  options.softcap = 5;
  REQUIRE(data.run(options) == Status::kOk);
  const std::vector<float> out = data.out;
  for (size_t b = 0; b < kShape.batch; ++b) {
    for (size_t g = 0; g < kShape.kv_heads; ++g) {
      // The first query sees keys 1 .. 4.
      std::fill_n(
          data.k.begin() + static_cast<ptrdiff_t>((b * kShape.kv_heads + g) * kShape.keys * kShape.dim),
          kShape.dim, kNaN);
      std::fill_n(
          data.v.begin() + static_cast<ptrdiff_t>((b * kShape.kv_heads + g) * kShape.keys * kShape.value_dim),
          kShape.value_dim, kNaN);
    }
  }
  REQUIRE(data.run(options) == Status::kOk);
  CHECK(sameBits(data.out, out));
  std::fill_n(data.q.begin(), kShape.dim, kNaN);
  REQUIRE(data.run(options) == Status::kOk);
  for (size_t d = 0; d < kShape.value_dim; ++d) CHECK(std::isnan(data.out[d]));
  CHECK(sameBits(data.out.data() + kShape.value_dim, out.data() + kShape.value_dim,
                 out.size() - kShape.value_dim));
}

TEST_CASE("Scores that all overflow give NaN, never the zeros of a query that sees nothing", "[attention]") {
  const std::vector<float> q = {1e30f, 1e30f};
  const std::vector<float> k = {-1e30f, -2e30f, -1e30f};
  const std::vector<float> v = {1, 2, 3};
  std::vector<float> out(2);
  AttentionOptions options = scaled(1);
  const auto run = [&] {
    REQUIRE(attention(headsFirst(out.data(), 1, 1, 2, 1), headsFirst(q.data(), 1, 1, 2, 1),
                      headsFirst(k.data(), 1, 1, 3, 1), headsFirst(v.data(), 1, 1, 3, 1),
                      options) == Status::kOk);
  };
  run();
  CHECK(std::isnan(out[0]));
  CHECK(std::isnan(out[1]));
  const std::vector<uint8_t> keep = {0, 0, 0, 0, 1, 0};  // the first query sees nothing
  options.keep = {keep.data(), 0, 0, 3, 1};
  run();
  CHECK(out[0] == 0);
  CHECK(std::isnan(out[1]));
  const float sink = 0;  // beside which they weigh nothing
  options.sinks = &sink;
  run();
  CHECK(out == std::vector<float>{0, 0});
}

}  // namespace ropewalk::test
