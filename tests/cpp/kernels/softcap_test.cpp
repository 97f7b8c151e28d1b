#include "kernels/softcap.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

// x / cap rounds once, which tanh passes on at most as it is, tanh is within 2 ulp, and the product rounds
// once.
TEST_CASE("softcapRow is cap tanh(x / cap) at any size", "[kernels]") {
  Random random(1);
  for (const size_t n : kernelSizes()) {
    for (const float cap : {0.1f, 30.0f, 1000.0f}) {
      const std::vector<float> x = random.floats(n, 90);
      std::vector<float> out = x;
      softcapRow(out.data(), n, cap);
      Worst worst;
      for (size_t i = 0; i < n; ++i) {
        const double expected = cap * std::tanh(static_cast<double>(x[i]) / cap);
        worst.add(out[i], expected, 6 * kUnit * std::fabs(expected));
      }
      INFO("n = " << n << ", cap = " << cap);
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("softcapRow takes infinities to the cap and leaves NaN", "[kernels]") {
  std::vector<float> x = {kInfinity, -kInfinity, kNaN, 0.0f, 3e38f};
  softcapRow(x.data(), x.size(), 30);
  CHECK(x[0] == 30);
  CHECK(x[1] == -30);
  CHECK(std::isnan(x[2]));
  CHECK(x[3] == 0);
  CHECK(x[4] == 30);
}

}  // namespace ropewalk::test
