// The state of linear attention: split inputs, long runs, saving.
#include <vector>

#include "attention/linear_attention.h"
#include "attention/naive_linear_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

LinearAttentionState stateOf(const LinearCase& c, const LinearShape& s) {
  LinearAttentionState state;
  REQUIRE(state.create(c.options, {s.batch, s.kv_heads, s.dim, s.value_dim}) == Status::kOk);
  return state;
}

// Tokens [start, start + count) of a view.
template <class T>
HeadView<T> part(HeadView<T> x, size_t start, size_t count) {
  x.data += start * x.token_stride;
  x.tokens = count;
  return x;
}

// Appends the tokens of `data` from `start` on in pieces of these sizes, in turns.
void appendInPieces(LinearAttentionState& state, LinearData& data, const LinearCase& c,
                    const std::vector<size_t>& pieces, size_t start = 0) {
  const LinearAttentionInput all = data.input(c);
  LinearAttentionOutput output = data.output();
  const HeadView<float> out = output.out;
  output.denominators = nullptr;
  for (size_t n = 0; start < data.shape.keys; ++n) {
    const size_t count = std::min(pieces[n % pieces.size()], data.shape.keys - start);
    LinearAttentionInput in = all;
    in.q = part(all.q, start, count);
    in.k = part(all.k, start, count);
    in.v = part(all.v, start, count);
    in.keep = all.keep == nullptr ? nullptr : all.keep + start;
    in.key_positions.offset = in.query_positions.offset = c.offset + static_cast<int64_t>(start);
    output.out = part(out, start, count);
    REQUIRE(state.append(in, output) == Status::kOk);
    start += count;
  }
}

// Errors of the rows from `first` on against a recurrence in double on the same features, at their largest,
// in units of 2^-24 of the sums' sizes over the denominator. One head, elu + 1, no RoPE.
double worstAgainstDouble(const LinearData& data, size_t first, size_t last) {
  const auto& [batch, heads, kv_heads, queries, keys, dim, width] = data.shape;
  LinearCase c;
  std::vector<double> sums(dim * width);
  std::vector<double> sizes(dim * width);
  std::vector<double> z(dim);
  Worst worst;
  for (size_t t = 0; t < last; ++t) {
    const std::vector<double> key = featuresOf(c, data.k.data() + t * dim, dim, 0).plain;
    const std::vector<double> query = featuresOf(c, data.q.data() + t * dim, dim, 0).plain;
    double denominator = 0;
    for (size_t f = 0; f < dim; ++f) {
      z[f] += key[f];
      denominator += query[f] * z[f];
      for (size_t d = 0; d < width; ++d) {
        sums[f * width + d] += key[f] * data.v[t * width + d];
        sizes[f * width + d] += std::fabs(key[f] * data.v[t * width + d]);
      }
    }
    if (t < first) continue;
    for (size_t d = 0; d < width; ++d) {
      double numerator = 0;
      double size = 0;
      for (size_t f = 0; f < dim; ++f) {
        numerator += query[f] * sums[f * width + d];
        size += query[f] * sizes[f * width + d];
      }
      worst.add(data.out[t * width + d], numerator / denominator, size / denominator * kUnit);
    }
  }
  return worst.share();
}

}  // namespace

TEST_CASE("Any split of a sequence gives what one call gives", "[attention]") {
  Random random(1);
  const LinearShape shape = {2, 4, 2, 150, 150, 6, 5};
  RopePlan rope = planOf(ropeOptions(6, 6));
  std::vector<uint8_t> keep(300, 1);
  for (size_t j = 0; j < 300; j += 7) keep[j] = 0;
  for (const LinearKernel kernel : {LinearKernel::kElu1, LinearKernel::kCosine}) {
    for (const bool both : {false, true}) {
      if (kernel == LinearKernel::kCosine && !both) continue;
      for (const std::vector<size_t>& pieces :
           {std::vector<size_t>{1}, {64}, {65}, {1, 63, 2}, {0, 149, 1}, {7, 30, 100}}) {
        LinearData data(random, shape, false);
        LinearCase c;
        c.options.kernel = kernel;
        c.options.rotate_normalizer = both;
        c.causal = true;
        c.rope = &rope;
        c.offset = -20;
        c.keep = keep.data();
        LinearAttentionState state = stateOf(c, shape);
        appendInPieces(state, data, c, pieces);
        data.denominators.clear();
        LinearData whole = data;
        whole.denominators.assign(2 * 4 * 150, 0);
        REQUIRE(whole.run(c) == Status::kOk);
        data.denominators = whole.denominators;
        CHECK(data.errorShare(c) <= 1);
      }
    }
  }
}

TEST_CASE("A state of 16384 tokens is as exact as a short one, token by token and in blocks", "[attention]") {
  Random random(2);
  const LinearShape shape = {1, 1, 1, 16384, 16384, 8, 4};
  LinearCase c;
  c.causal = true;
  for (const bool steady : {false, true}) {
    LinearData data(random, shape);
    if (steady) {  // what drifts most: the same rounding again and again
      for (float& v : data.v) v = 0.1f + 0.01f * v;
      for (float& k : data.k) k = 0.3f;
    }
    REQUIRE(data.run(c) == Status::kOk);
    const double short_blocks = worstAgainstDouble(data, 0, 128);
    const double long_blocks = worstAgainstDouble(data, 16000, 16384);
    LinearAttentionState state = stateOf(c, shape);
    appendInPieces(state, data, c, {1});
    const double short_steps = worstAgainstDouble(data, 0, 128);
    const double long_steps = worstAgainstDouble(data, 16000, 16384);
    INFO("units of 2^-24: blocks " << short_blocks << " then " << long_blocks << ", steps " << short_steps
                                   << " then " << long_steps);
    CHECK(long_blocks <= 1.5 * short_blocks + 1);
    CHECK(long_steps <= 1.5 * short_steps + 1);
    CHECK(long_steps <= 12);  // two features of 4 roundings, and the dot product of 8 terms
  }
}

TEST_CASE("A saved state goes on as the one it was saved from", "[attention]") {
  Random random(3);
  const LinearShape shape = {2, 2, 2, 100, 100, 4, 3};
  LinearCase c;
  c.causal = true;
  LinearData data(random, shape, false);
  LinearData again = data;
  LinearAttentionState state = stateOf(c, shape);
  LinearAttentionState other = stateOf(c, shape);
  appendInPieces(other, again, c, {3});  // to be forgotten
  CHECK(state.bytes() == 2 * 2 * 4 * (8 + 3 * 8));

  LinearData head(random, {2, 2, 2, 70, 70, 4, 3}, false);
  appendInPieces(state, head, c, {1});
  std::vector<unsigned char> bytes(state.bytes());
  state.save(bytes.data());
  other.restore(bytes.data());
  appendInPieces(state, data, c, {9, 1});
  appendInPieces(other, again, c, {9, 1});
  CHECK(sameBits(data.out, again.out));

  state.reset();
  LinearAttentionState fresh = stateOf(c, shape);
  appendInPieces(state, data, c, {9, 1});
  appendInPieces(fresh, again, c, {9, 1});
  CHECK(sameBits(data.out, again.out));
}

TEST_CASE("A state refuses what does not fit it and stays as it was", "[attention]") {
  Random random(4);
  const LinearShape shape = {1, 2, 1, 5, 5, 4, 3};
  LinearCase c;
  c.causal = true;
  LinearData data(random, shape);
  LinearAttentionState state = stateOf(c, shape);
  appendInPieces(state, data, c, {5});
  std::vector<unsigned char> before(state.bytes());
  state.save(before.data());
  const LinearShape others[] = {{2, 2, 1, 5, 5, 4, 3},
                                {1, 2, 2, 5, 5, 4, 3},
                                {1, 2, 1, 5, 5, 6, 3},
                                {1, 2, 1, 5, 5, 4, 2},
                                {1, 2, 1, 6, 5, 4, 3}};
  for (const LinearShape& s : others) {
    LinearData misfit(random, s);
    CHECK(state.append(misfit.input(c), misfit.output()) == Status::kInvalidShape);
  }
  // A block of tokens of so many heads has more rows than a size_t counts.
  LinearAttentionInput many = data.input(c);
  LinearAttentionOutput wide = data.output();
  many.q.heads = wide.out.heads = SIZE_MAX / kLinearBlock + 1;
  many.q.tokens = wide.out.tokens = 0;
  CHECK(state.append(many, wide) == Status::kOutOfMemory);
  // xPos reaches so far and no further; the last of these tokens stands beyond.
  RopeOptions xpos = ropeOptions(4, 4);
  xpos.xpos.scale_base = 1;
  RopePlan rope = planOf(xpos);
  c.rope = &rope;
  c.offset = 64;
  CHECK(state.append(data.input(c), data.output()) == Status::kPositionOutOfRange);
  std::vector<unsigned char> after(state.bytes());
  state.save(after.data());
  CHECK(before == after);
  CHECK(LinearAttentionState().create(c.options, {1, 1, 0, 3}) == Status::kInvalidShape);
  CHECK(state.create(c.options, {SIZE_MAX, 2, 4, 4}) == Status::kOutOfMemory);
  state.save(after.data());
  CHECK(before == after);
}

}  // namespace ropewalk::test
