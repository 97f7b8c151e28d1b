#include "layers/init.h"

#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("Seeded weights are SplitMix64's numbers on every platform", "[layers]") {
  // The generator's published outputs for seed 1234567: 6457827717110365317, 3203168211198807973,
  // 9817491932198370423.
  std::vector<float> x(3);
  fillUniform(1234567, 0, 2.0f, x.data(), 3);
  const uint64_t outputs[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
  for (size_t i = 0; i < 3; ++i) {
    CHECK(x[i] == 2.0f * (2 * (static_cast<float>(outputs[i] >> 40) / 16777216.0f) - 1));
  }
}

TEST_CASE("Seeded weights stay within their bound, centred, and differ by seed and stream", "[layers]") {
  std::vector<float> a(10000);
  std::vector<float> b(10000);
  fillUniform(1, 0, 0.5f, a.data(), a.size());
  fillUniform(2, 0, 0.5f, b.data(), b.size());
  double sum = 0;
  double squares = 0;
  for (const float x : a) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  CHECK(*std::min_element(a.begin(), a.end()) >= -0.5f);
  CHECK(*std::max_element(a.begin(), a.end()) < 0.5f);
  CHECK(std::fabs(sum / 10000) <= 0.012);                 // four standard deviations of the mean
  CHECK(std::fabs(squares / 10000 - 1.0 / 12) <= 0.003);  // and of the variance
  CHECK(!sameBits(a, b));
  fillUniform(1, 1, 0.5f, b.data(), b.size());  // another stream
  CHECK(!sameBits(a, b));
  fillUniform(1, 0, 0.5f, b.data(), b.size());
  CHECK(sameBits(a, b));
  fillUniform(1, 0, 0.5f, nullptr, 0);
}

}  // namespace ropewalk::test
