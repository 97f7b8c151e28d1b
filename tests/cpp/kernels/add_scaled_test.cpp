#include "kernels/add_scaled.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("addScaled rounds each entry at most twice at any size", "[kernels]") {
  Random random(1);
  for (const size_t n : kernelSizes()) {
    const std::vector<float> x = random.floats(n);
    const std::vector<float> before = random.floats(n);
    const auto s = static_cast<float>(random.uniform(-2, 2));
    std::vector<float> out = before;
    addScaled(out.data(), s, x.data(), n);
    Worst worst;
    for (size_t i = 0; i < n; ++i) {
      const double product = static_cast<double>(s) * x[i];
      worst.add(out[i], before[i] + product, 2 * kUnit * (std::fabs(before[i]) + std::fabs(product)));
    }
    INFO("n = " << n);
    CHECK(worst.share() <= 1);
  }
}

}  // namespace ropewalk::test
