// The RoPE kernel natively: for every line "half" or "interleaved" on stdin, turns [1, 32, 2048, 128] in
// place once and prints the milliseconds. rope.mjs drives it in alternation with the wasm build.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "encodings/rope.h"

int main() {
  using namespace ropewalk;
  constexpr size_t kHeads = 32;
  constexpr size_t kTokens = 2048;
  constexpr size_t kDim = 128;
  RopePlan half;
  RopePlan interleaved;
  RopeOptions options;
  options.head_dim = kDim;
  options.frequencies.dim = kDim;
  if (half.create(options) != Status::kOk) return 1;
  options.pairing = Pairing::kInterleaved;
  if (interleaved.create(options) != Status::kOk) return 1;
  Buffer<float> x;
  if (x.allocate(kHeads * kTokens * kDim) != Status::kOk) return 1;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) / 1000;

  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    RopePlan& plan = std::strncmp(line, "half", 4) == 0 ? half : interleaved;
    const auto start = std::chrono::steady_clock::now();
    if (plan.rotate(headsFirst(x.data(), 1, kHeads, kTokens, kDim), {}) != Status::kOk) return 1;
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%.4f\n", elapsed.count());
    std::fflush(stdout);
  }
}
