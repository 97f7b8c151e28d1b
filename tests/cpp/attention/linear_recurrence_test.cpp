#include "attention/linear_recurrence.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

struct Shape {
  size_t batch;
  size_t heads;
  size_t kv_heads;
  size_t tokens;
  size_t dim;
  size_t value_dim;
};

struct Data {
  Shape s;
  UpdateRule rule;
  bool heads_first;
  size_t decay_dim;
  size_t beta_heads;
  std::vector<float> q, k, v, decay, beta, past, out, present;

  Data(Random& random, const Shape& shape, UpdateRule update, bool first, bool per_key, bool shared_beta)
      : s(shape),
        rule(update),
        heads_first(first),
        decay_dim(per_key ? s.dim : 1),
        beta_heads(shared_beta ? 1 : s.kv_heads),
        q(random.floats(s.batch * s.heads * s.tokens * s.dim)),
        // Keys of length below 1 and beta within [0, 1]: a delta rule with more does not settle.
        k(random.floats(s.batch * s.kv_heads * s.tokens * s.dim, 1 / std::sqrt(static_cast<double>(s.dim)))),
        v(random.floats(s.batch * s.kv_heads * s.tokens * s.value_dim)),
        decay(random.floats(s.batch * s.kv_heads * s.tokens * decay_dim)),
        beta(random.floats(s.batch * beta_heads * s.tokens)),
        past(random.floats(s.batch * s.kv_heads * s.dim * s.value_dim)),
        out(s.batch * s.heads * s.tokens * s.value_dim, kNaN),
        present(past.size(), kNaN) {
    for (float& g : decay) g = -std::fabs(g);
    for (float& b : beta) b = std::fabs(b);
  }

  template <class T>
  HeadView<T> view(T* data, size_t heads, size_t dim) const {
    return heads_first ? headsFirst(data, s.batch, heads, s.tokens, dim)
                       : tokensFirst(data, s.batch, heads, s.tokens, dim);
  }
  bool gated() const { return rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta; }
  bool delta() const { return rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta; }

  LinearRecurrenceInput input() const {
    LinearRecurrenceInput in;
    in.rule = rule;
    in.scale = 0.5f;
    in.q = view(q.data(), s.heads, s.dim);
    in.k = view(k.data(), s.kv_heads, s.dim);
    in.v = view(v.data(), s.kv_heads, s.value_dim);
    if (gated()) in.decay = view(decay.data(), s.kv_heads, decay_dim);
    if (delta()) in.beta = view(beta.data(), beta_heads, 1);
    in.past = past.data();
    return in;
  }
  Status run() { return linearRecurrence(input(), view(out.data(), s.heads, s.value_dim), present.data()); }

  // The worst error of out and present as a share of 4 (T + D) roundings of sums of numbers up to about 1.
  double errorShare() {
    const LinearRecurrenceInput in = input();
    const HeadView<float> results = view(out.data(), s.heads, s.value_dim);
    const double tolerance = 4 * static_cast<double>(s.tokens + s.dim) * kUnit * 4;
    Worst worst;
    for (size_t b = 0; b < s.batch; ++b) {
      for (size_t g = 0; g < s.kv_heads; ++g) {
        const size_t at = (b * s.kv_heads + g) * s.dim * s.value_dim;
        std::vector<double> state(past.begin() + static_cast<ptrdiff_t>(at),
                                  past.begin() + static_cast<ptrdiff_t>(at + s.dim * s.value_dim));
        for (size_t t = 0; t < s.tokens; ++t) {
          const float* key = in.k.row(b, g, t);
          if (gated()) {
            for (size_t i = 0; i < state.size(); ++i)
              state[i] *=
                  std::exp(static_cast<double>(in.decay.row(b, g, t)[decay_dim == 1 ? 0 : i / s.value_dim]));
          }
          for (size_t m = 0; m < s.value_dim; ++m) {
            double u = in.v.row(b, g, t)[m];
            if (delta()) {
              for (size_t d = 0; d < s.dim; ++d) u -= state[d * s.value_dim + m] * key[d];
              u *= *in.beta.row(b, beta_heads == 1 ? 0 : g, t);
            }
            for (size_t d = 0; d < s.dim; ++d) state[d * s.value_dim + m] += key[d] * u;
            for (size_t h = 0; h < s.heads; ++h) {
              if (h / (s.heads / s.kv_heads) != g) continue;
              double read = 0;
              for (size_t d = 0; d < s.dim; ++d) read += state[d * s.value_dim + m] * in.q.row(b, h, t)[d];
              worst.add(results.row(b, h, t)[m], 0.5 * read, tolerance * static_cast<double>(s.dim));
            }
          }
        }
        for (size_t i = 0; i < state.size(); ++i) worst.add(present[at + i], state[i], tolerance);
      }
    }
    return worst.share();
  }
};

constexpr UpdateRule kRules[] = {UpdateRule::kLinear, UpdateRule::kGated, UpdateRule::kDelta,
                                 UpdateRule::kGatedDelta};

}  // namespace

TEST_CASE("Every update rule agrees with its recurrence in double, at any shape and in both layouts",
          "[attention]") {
  Random random(1);
  const Shape shapes[] = {{1, 1, 1, 1, 1, 1},    {2, 4, 4, 5, 8, 8}, {2, 6, 2, 7, 5, 9}, {1, 8, 1, 70, 16, 3},
                          {1, 2, 2, 130, 6, 17}, {1, 1, 1, 0, 4, 4}, {0, 2, 2, 3, 4, 4}};
  for (const Shape& shape : shapes) {
    for (const UpdateRule rule : kRules) {
      for (const int variant : {0, 1, 2, 3}) {
        Data data(random, shape, rule, variant % 2 == 0, variant < 2, variant == 1);
        REQUIRE(data.run() == Status::kOk);
        INFO("rule " << static_cast<int>(rule) << ", tokens " << shape.tokens << ", variant " << variant);
        CHECK(data.errorShare() <= 1);
      }
    }
  }
}

TEST_CASE("A recurrence cut in two gives what it gives whole, and no past is a past of zeros",
          "[attention]") {
  Random random(2);
  for (const UpdateRule rule : kRules) {
    Data whole(random, {1, 2, 1, 30, 6, 5}, rule, false, true, false);
    std::fill(whole.past.begin(), whole.past.end(), 0.0f);
    REQUIRE(whole.run() == Status::kOk);
    std::vector<float> out(whole.out.size(), kNaN);
    std::vector<float> state(whole.present.size());
    std::vector<float> next(whole.present.size());
    for (const size_t start : {size_t{0}, size_t{11}}) {
      LinearRecurrenceInput in = whole.input();
      const size_t count = start == 0 ? 11 : 19;
      for (HeadView<const float>* x : {&in.q, &in.k, &in.v, &in.decay, &in.beta}) {
        if (x->dim != 0) x->data += start * x->token_stride;
        x->tokens = count;
      }
      in.past = start == 0 ? nullptr : state.data();
      HeadView<float> to = whole.view(out.data(), 2, 5);
      to.data += start * to.token_stride;
      to.tokens = count;
      REQUIRE(linearRecurrence(in, to, next.data()) == Status::kOk);
      state = next;
    }
    Worst worst;
    for (size_t i = 0; i < out.size(); ++i) worst.add(out[i], whole.out[i], 64 * kUnit * 6);
    for (size_t i = 0; i < state.size(); ++i) worst.add(state[i], whole.present[i], 64 * kUnit);
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("With beta 1 and a key of length 1 the delta rule holds exactly what was written last",
          "[attention]") {
  Random random(3);
  Data data(random, {1, 1, 1, 6, 4, 5}, UpdateRule::kDelta, true, false, false);
  std::fill(data.beta.begin(), data.beta.end(), 1.0f);
  std::fill(data.k.begin(), data.k.end(), 0.0f);
  for (size_t t = 0; t < 6; ++t) data.k[t * 4 + t % 4] = 1;  // axis by axis, the first two again
  REQUIRE(data.run() == Status::kOk);
  Worst worst;
  for (size_t d = 0; d < 4; ++d) {
    const size_t last = d < 2 ? d + 4 : d;
    for (size_t m = 0; m < 5; ++m) worst.add(data.present[d * 5 + m], data.v[last * 5 + m], 4 * kUnit);
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("A recurrence refuses gates that do not fit its rule", "[attention]") {
  Random random(4);
  for (const UpdateRule rule : kRules) {
    Data data(random, {1, 4, 2, 3, 4, 5}, rule, true, true, false);
    const std::vector<float> before = data.out;
    const auto refused = [&](auto change) {
      LinearRecurrenceInput in = data.input();
      change(in);
      CHECK(linearRecurrence(in, data.view(data.out.data(), 4, 5), data.present.data()) ==
            Status::kInvalidShape);
      CHECK(sameBits(data.out, before));
    };
    refused([](auto& in) { in.q.dim = 3; });
    refused([](auto& in) { in.q.heads = 3; });
    refused([](auto& in) { in.k.tokens = 2; });
    refused([](auto& in) { in.v.batch = 2; });
    refused([](auto& in) { in.v.heads = 1; });
    refused([](auto& in) { in.v.dim += 1; });  // the result has another
    refused([&](auto& in) { in.decay = data.gated() ? HeadView<const float>{} : in.k; });
    refused([&](auto& in) { in.beta = data.delta() ? HeadView<const float>{} : in.k; });
    if (data.gated()) refused([](auto& in) { in.decay.dim = 2; });
    if (data.delta()) refused([](auto& in) { in.beta.heads = 3; });
  }
}

}  // namespace ropewalk::test
