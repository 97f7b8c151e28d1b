// libFuzzer: attention with any options. What comes out is a mean of values, or zeros.
#include "attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz.h"

namespace {

using namespace ropewalk;

template <class T>
MaskView<T> maskOf(Input& input, const std::vector<T>& data, const HeadView<const float>& q, size_t keys) {
  const bool b = input.flag();
  const bool h = input.flag();
  const bool i = input.flag();
  const size_t query = i ? keys : 0;
  const size_t head = h ? (i ? q.tokens : 1) * keys : 0;
  const size_t rows = (h ? q.heads : 1) * (i ? q.tokens : 1) * keys;
  return {data.data(), b ? rows : 0, head, query, 1};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const size_t batch = input.from(1, 2);
  const size_t kv_heads = input.from(1, 2);
  const size_t heads = kv_heads * input.from(1, 3);
  const size_t queries = input.upTo(9);
  const size_t keys = input.flag() ? input.upTo(9) : input.upTo(300);
  const size_t dim = input.from(1, 9);
  const size_t value_dim = input.from(1, 9);

  AttentionOptions options;
  options.scale = input.oneOf({1.0f, 0.35f, 0.0f, -1.0f});
  options.query_offset = input.flag() ? input.position() / 2 : static_cast<int64_t>(input.upTo(20)) - 10;
  std::vector<int64_t> offsets(batch);
  for (int64_t& offset : offsets) offset = input.take<int8_t>();
  if (input.flag()) options.query_offsets = offsets.data();
  std::vector<int64_t> at(keys);
  int64_t position = input.take<int16_t>();
  for (int64_t& key : at) key = position += input.flag() ? 1 : input.take<uint16_t>() + 1;
  if (input.flag()) options.key_positions = at.data();
  options.causal = input.flag();
  options.window_left = input.flag() ? static_cast<int64_t>(input.upTo(20)) : -1;
  options.window_right = input.flag() ? static_cast<int64_t>(input.upTo(20)) : -1;
  options.sink_tokens = input.upTo(5);
  std::vector<int64_t> lengths(batch);
  for (int64_t& length : lengths) length = static_cast<int64_t>(input.upTo(keys));
  if (input.flag()) options.key_lengths = lengths.data();
  options.softcap = input.oneOf({0.0f, 0.0f, 5.0f});
  options.chunked = options.window_left >= 0 && input.flag();
  if (input.flag()) options.temperature = {static_cast<int64_t>(input.from(1, 9)), 0.1f};
  std::vector<float> sinks = input.floats(heads);
  if (input.flag()) options.sinks = sinks.data();

  const std::vector<float> q = input.floats(batch * heads * queries * dim);
  const std::vector<float> k = input.floats(batch * kv_heads * keys * dim);
  const std::vector<float> v = input.floats(batch * kv_heads * keys * value_dim);
  const HeadView<const float> q_view = headsFirst(q.data(), batch, heads, queries, dim);
  RelativeTerms& relative = options.relative;
  std::vector<float> tables[4];
  const size_t terms = input.upTo(15);
  if (terms != 0) relative.rows = {static_cast<int64_t>(input.upTo(6)), input.flag(), nullptr};
  relative.own_tables = input.flag();
  const float** const given[] = {&relative.query_table, &relative.key_table, &relative.product_table,
                                 &relative.value_table};
  for (size_t i = 0; i < 4; ++i) {
    if ((terms >> i & 1) == 0) continue;
    const size_t own = i < 2 && relative.own_tables ? kv_heads : 1;
    tables[i] = input.floats(relative.rows.rows() * own * (i == 3 ? value_dim : dim));
    *given[i] = tables[i].data();
  }
  std::vector<float> segments;
  std::vector<double> types(batch * keys);
  if (queries == keys && input.flag()) {
    segments = input.floats(2 * heads * (dim + 1));
    for (double& type : types) type = static_cast<double>(input.upTo(2));
    options.segments = {segments.data(), segments.data() + 2 * heads * dim, types.data()};
  }
  const size_t cells = batch * heads * queries * keys;
  std::vector<uint8_t> keep;
  std::vector<float> bias;
  if (input.flag()) {
    keep.resize(cells);
    for (uint8_t& kept : keep) kept = input.flag();
    options.keep = maskOf(input, keep, q_view, keys);
  }
  if (input.flag()) {
    bias = input.floats(cells);
    for (float& value : bias) value = value < -3.9f ? -std::numeric_limits<float>::infinity() : value;
    options.bias = maskOf(input, bias, q_view, keys);
  }
  std::vector<float> stages[6];
  ScoreOutputs scores;
  float** const wanted[] = {&scores.content, &scores.position, &scores.raw,
                            &scores.capped,  &scores.biased,   &scores.probabilities};
  const size_t asked = input.upTo(63);
  for (size_t i = 0; i < 6; ++i) {
    if ((asked >> i & 1) == 0) continue;
    stages[i].resize(cells);
    *wanted[i] = stages[i].data();
  }

  std::vector<float> out(batch * heads * queries * value_dim, std::numeric_limits<float>::quiet_NaN());
  const Status status = attention(headsFirst(out.data(), batch, heads, queries, value_dim), q_view,
                                  headsFirst(k.data(), batch, kv_heads, keys, dim),
                                  headsFirst(v.data(), batch, kv_heads, keys, value_dim), options, scores);
  require(status == Status::kOk);
  // With 0, which a query that attends to nothing, or to a sink, gives.
  std::vector<float> least(batch * kv_heads * value_dim);
  std::vector<float> most(least.size());
  for (size_t i = 0; i < v.size(); ++i) {
    const size_t column = i / (keys * value_dim) * value_dim + i % value_dim;
    least[column] = std::min(least[column], v[i]);
    most[column] = std::max(most[column], v[i]);
  }
  const float beyond = relative.value_table != nullptr ? 4.001f : 1e-4f;
  for (size_t row = 0; row < batch * heads * queries; ++row) {
    const size_t head = row / queries;
    const size_t kv_head = head / heads * kv_heads + head % heads / (heads / kv_heads);
    for (size_t d = 0; d < value_dim; ++d) {
      const size_t column = kv_head * value_dim + d;
      const float got = out[row * value_dim + d];
      require(got >= least[column] - beyond && got <= most[column] + beyond);
    }
    float total = 0;
    for (size_t j = 0; scores.probabilities != nullptr && j < keys; ++j)
      total += scores.probabilities[row * keys + j];
    require(total <= 1.0001f);
  }
  return 0;
}
