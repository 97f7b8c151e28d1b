// Results have the same bits with any number of threads, also with more than there are cores.
#include "parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <thread>
#include <vector>

#include "attention/attention.h"
#include "attention/linear_attention.h"
#include "attention/linear_recurrence.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "kernels/activation.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"
#include "kernels/weight_format.h"
#include "layers/block_data.h"
#include "layers/embedding.h"
#include "reference.h"
#include "thread_bits.h"
#include "threads.h"

namespace ropewalk::test {
namespace {

PackedMatrix packed(const std::vector<float>& w, size_t n, size_t k, WeightType stored) {
  PackedMatrix matrix;
  REQUIRE(matrix.pack(WeightType::kFloat32, w.data(), n, k, stored) == Status::kOk);
  return matrix;
}

}  // namespace

TEST_CASE("Every iteration has its turn once, whatever the number of threads and shares", "[parallel]") {
  for (const size_t threads : std::initializer_list<size_t>{1, 2, 3, 8}) {
    useThreads(threads, false);
    for (const size_t count : std::initializer_list<size_t>{0, 1, 2, 7, 100, 1000}) {
      for (const size_t grain : std::initializer_list<size_t>{1, 3, 50, 2000}) {
        std::vector<std::atomic<int>> seen(count);
        std::atomic<size_t> shares = 0;
        const size_t most = threadsFor(count, grain);
        parallelFor(count, grain, [&](const Share& share) {
          for (size_t i = share.first; i < share.end; ++i) ++seen[i];
          if (share.thread >= most || share.first >= share.end) shares += 1000;
          ++shares;
        });
        for (const std::atomic<int>& times : seen) REQUIRE(times == 1);
        CHECK(shares <= std::max<size_t>(1, count / grain));
      }
    }
  }
  useThreads(4, true);
}

TEST_CASE("Every thread gets as many shares where each can have one", "[parallel]") {
  for (const size_t threads : std::initializer_list<size_t>{2, 3, 4, 8}) {
    useThreads(threads, false);
    for (size_t count = 1; count < 100; ++count) {
      const size_t shares = threadPool().shares(count, 1);
      const size_t most = std::min(count, 4 * threads);
      CHECK(shares == (most < threads ? most : most / threads * threads));
    }
  }
  useThreads(4, true);
}

TEST_CASE("A share is large enough to be worth a thread, however large the work of an iteration is",
          "[parallel]") {
  CHECK(grainOf(size_t{1}) == kShareWork);
  CHECK(grainOf(size_t{0}) == kShareWork);
  CHECK(grainOf(kShareWork / 4, size_t{2}) == 2);
  CHECK(grainOf(size_t{3}, kShareWork) == 1);
  constexpr size_t kRoot = size_t{1} << (sizeof(size_t) * 4);  // whose square is 0 in size_t
  CHECK(grainOf(kRoot, kRoot) == 1);
  CHECK(grainOf(kRoot, kRoot, kRoot, kRoot) == 1);
}

TEST_CASE("A loop within a loop is not split", "[parallel]") {
  std::atomic<size_t> inner = 0;
  parallelFor(8, 1, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) parallelFor(100, 1, [&](const Share&) { ++inner; });
  });
  CHECK(inner == 8);
}

TEST_CASE("The pool is busy while a loop runs, and no longer", "[parallel]") {
  CHECK_FALSE(threadPool().busy());
  std::atomic<bool> busy = true;
  parallelFor(8, 1, [&](const Share&) {
    if (!threadPool().busy()) busy = false;
  });
  CHECK(busy);
  CHECK_FALSE(threadPool().busy());
}

TEST_CASE("A thread leaves a pool whose owner writes that it is closed", "[parallel]") {
  useThreads(1, false);
  threadPool().open(2, true, UINT64_MAX);
  std::thread worker([] { threadPool().work(1); });
  std::atomic<size_t> seen = 0;
  parallelFor(8, 1, [&](const Share& share) { seen += share.end - share.first; });
  CHECK(seen == 8);
  CHECK(threadPool().lost() == 0);
  threadPool().closed().store(1);
  threadPool().wake().fetch_add(1);
  threadPool().wake().notify_all();
  worker.join();
  useThreads(4, true);
}

// In a process of its own, since it ends.
TEST_CASE("A loop of which a share is never done is given up, and no call waits for it", "[parallel]") {
  for (const bool owner_knows : {false, true}) {
    CAPTURE(owner_knows);
    useThreads(1, false);  // only the thread that forks goes on in the other process
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(120);
      threadPool().open(2, true, owner_knows ? UINT64_MAX : 1000);
      std::thread([] { threadPool().work(1); }).detach();
      std::atomic<bool> begun = false;
      parallelFor(8, 1, [&](const Share& share) {
        if (share.thread == 1) begun = true;
        if (share.thread == 1 && owner_knows) threadPool().lost().store(1);
        while (share.thread == 1 || !begun) std::this_thread::yield();
      });
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_FALSE(WIFEXITED(status));
    if (WIFSIGNALED(status)) CHECK(WTERMSIG(status) != SIGALRM);
  }
  useThreads(4, true);
}

TEST_CASE("Products of every format have the same bits with any number of threads", "[parallel]") {
  Random random(1);
  const size_t shapes[][3] = {{1, 300, 520}, {2, 1000, 70}, {5, 90, 300}, {150, 530, 64}, {700, 20, 260}};
  for (const WeightFormat& format : kWeightFormats) {
    for (const auto& [m, n, k] : shapes) {
      CAPTURE(static_cast<int>(format.type), m, n, k);
      const std::vector<float> w = random.floats(n * k);
      const std::vector<float> a = random.floats(m * k);
      const std::vector<float> bias = random.floats(n);
      const std::vector<float> before = random.floats(m * n);
      checkThreads(m * n, [&](float* out) {
        // Packing is split as well.
        const PackedMatrix matrix = packed(w, n, k, format.type);
        std::copy(before.begin(), before.end(), out);
        const auto silu = [](float* row, size_t count) { activate(Activation::kSilu, row, row, count); };
        gemm(out, n, a.data(), k, matrix, m, {true, bias.data(), silu});
      });
    }
  }
}

TEST_CASE("A product with a matrix as it lies has the same bits with any number of threads", "[parallel]") {
  Random random(2);
  const size_t shapes[][3] = {{1, 900, 300}, {200, 40, 300}, {70, 700, 33}};
  for (const auto& [m, n, k] : shapes) {
    const std::vector<float> a = random.floats(m * k);
    const std::vector<float> b = random.floats(k * n);
    checkThreads(m * n, [&](float* out) { gemm(out, n, a.data(), k, {b.data(), k, n, n}, m); });
  }
}

TEST_CASE("Rows, activations and embeddings have the same bits with any number of threads", "[parallel]") {
  Random random(3);
  const size_t rows = 90;
  const size_t n = 531;
  const std::vector<float> x = random.floats(rows * n, 4);
  const std::vector<float> up = random.floats(rows * n);
  const std::vector<float> weight = random.floats(n);
  NormOptions options;
  options.weight = weight.data();
  options.eps = 1e-5;
  checkThreads(rows * n, [&](float* out) { softmaxRows(out, n, x.data(), n, rows, n); });
  checkThreads(rows * n,
               [&](float* out) { layerNorm(out, x.data(), rows, n, options, {up.data(), nullptr}); });
  checkThreads(rows * n, [&](float* out) { rmsNorm(out, x.data(), rows, n, options); });
  for (const Activation f :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu, Activation::kRelu, Activation::kTanh}) {
    checkThreads(rows * n, [&](float* out) { activate(f, out, x.data(), rows * n); });
    checkThreads(rows * n, [&](float* out) { activateGated(f, out, x.data(), up.data(), rows * n); });
  }

  const std::vector<int64_t> ids = {3, 89, 0, 3, 17, 44, 88, 1, 2, 64, 5};
  checkThreads(ids.size() * n, [&](float* out) {
    REQUIRE(embed(out, WeightType::kFloat32, x.data(), rows, n, ids.data(), ids.size(), 3) == Status::kOk);
  });
  for (const WeightType stored : {WeightType::kFloat32, WeightType::kBfloat16, WeightType::kQ8_0}) {
    const PackedMatrix table = packed(x, rows, n, stored);
    for (const bool accumulate : {false, true}) {
      checkThreads(ids.size() * n, [&](float* out) {
        std::copy_n(up.data(), ids.size() * n, out);
        REQUIRE(embed(out, table, ids.data(), ids.size(), 3, accumulate) == Status::kOk);
      });
    }
  }
}

TEST_CASE("Rotations have the same bits with any number of threads", "[parallel]") {
  Random random(4);
  const size_t batch = 2;
  const size_t heads = 5;
  const size_t tokens = 300;
  const size_t dim = 64;
  const std::vector<float> x = random.floats(batch * heads * tokens * dim);
  for (const Pairing pairing : {Pairing::kHalf, Pairing::kInterleaved}) {
    for (const Turn turn : {Turn::kForward, Turn::kBack}) {
      checkThreads(x.size(), [&](float* out) {
        RopePlan plan = planOf(ropeOptions(dim, dim, pairing));
        std::copy(x.begin(), x.end(), out);
        const HeadView<float> view = tokensFirst(out, batch, heads, tokens, dim);
        REQUIRE(plan.rotate(view, {nullptr, false, 7}, turn) == Status::kOk);
      });
    }
  }
}

TEST_CASE("Attention has the same bits with any number of threads", "[parallel]") {
  Random random(5);
  struct Shape {
    size_t heads, kv_heads, queries, keys;
  };
  for (const Shape& s : {Shape{6, 3, 1, 700}, Shape{2, 1, 150, 300}, Shape{8, 8, 65, 65}}) {
    const size_t dim = 24;
    const size_t width = 20;
    const std::vector<float> q = random.floats(2 * s.heads * s.queries * dim);
    const std::vector<float> k = random.floats(2 * s.kv_heads * s.keys * dim);
    const std::vector<float> v = random.floats(2 * s.kv_heads * s.keys * width);
    const size_t outs = 2 * s.heads * s.queries * width;
    const size_t scores = 2 * s.heads * s.queries * s.keys;
    for (const bool all_scores : {false, true}) {
      checkThreads(outs + (all_scores ? scores : 0), [&](float* out) {
        AttentionOptions options;
        options.scale = 0.2f;
        options.causal = true;
        options.query_offset = static_cast<int64_t>(s.keys - s.queries);
        ScoreOutputs given;
        if (all_scores) given.probabilities = out + outs;
        REQUIRE(attention(headsFirst(out, 2, s.heads, s.queries, width),
                          headsFirst(q.data(), 2, s.heads, s.queries, dim),
                          headsFirst(k.data(), 2, s.kv_heads, s.keys, dim),
                          headsFirst(v.data(), 2, s.kv_heads, s.keys, width), options, given) == Status::kOk);
      });
    }
  }
}

TEST_CASE("Linear attention has the same bits with any number of threads", "[parallel]") {
  Random random(6);
  const size_t heads = 6;
  const size_t kv_heads = 3;
  const size_t tokens = 150;
  const size_t dim = 16;
  const std::vector<float> q = random.floats(heads * tokens * dim);
  const std::vector<float> k = random.floats(kv_heads * tokens * dim, 0.2);
  const std::vector<float> v = random.floats(kv_heads * tokens * dim);
  const std::vector<float> gates = random.floats(kv_heads * tokens);
  LinearAttentionInput input;
  input.q = headsFirst(q.data(), 1, heads, tokens, dim);
  input.k = headsFirst(k.data(), 1, kv_heads, tokens, dim);
  input.v = headsFirst(v.data(), 1, kv_heads, tokens, dim);
  for (const bool causal : {false, true}) {
    checkThreads(q.size() + 2, [&](float* out) {
      DenominatorReport report;
      LinearAttentionOutput output;
      output.out = headsFirst(out, 1, heads, tokens, dim);
      output.report = &report;
      REQUIRE(linearAttention({}, causal, input, output) == Status::kOk);
      out[q.size()] = static_cast<float>(report.minimum);
      out[q.size() + 1] = static_cast<float>(report.negative);
    });
  }

  checkThreads(q.size() + kv_heads * dim * dim, [&](float* out) {
    LinearRecurrenceInput in;
    in.q = input.q;
    in.k = input.k;
    in.v = input.v;
    in.decay = in.beta = headsFirst(gates.data(), 1, kv_heads, tokens, size_t{1});
    REQUIRE(linearRecurrence(in, headsFirst(out, 1, heads, tokens, dim), out + q.size()) == Status::kOk);
  });
}

TEST_CASE("A transformer block has the same bits with any number of threads", "[parallel]") {
  Random random(7);
  BlockShape shape;
  shape.model = 96;
  shape.heads = 6;
  shape.kv_heads = 2;
  shape.dim = shape.value_dim = 16;
  shape.hidden = 260;
  const BlockData data(random, shape, 2, 70);
  const TransformerBlock block = data.block();
  checkThreads(data.x.size(), [&](float* out) {
    RopePlan plan = planOf(ropeOptions(16, 16));
    SelfAttentionInput input = data.input();
    input.rope = &plan;
    REQUIRE(block.forward(out, data.x.data(), input) == Status::kOk);
  });
}

}  // namespace ropewalk::test
