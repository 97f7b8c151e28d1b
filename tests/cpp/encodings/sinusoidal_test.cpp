#include "encodings/sinusoidal.h"

#include <cmath>
#include <limits>
#include <vector>

#include "angles/exact_sine.h"
#include "angles/phase.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Layout = SinusoidLayout;
constexpr Layout kLayouts[] = {Layout::kInterleaved, Layout::kConcatenated, Layout::kTensor2Tensor};

std::vector<float> tableOf(const SinusoidalOptions& options, const std::vector<int64_t>& positions) {
  std::vector<float> table(positions.size() * options.dim, kNaN);
  REQUIRE(sinusoidal(options, positions.data(), positions.size(), table.data()) == Status::kOk);
  return table;
}

// Entry `column` at `position`, by the formula of each layout.
double entry(const SinusoidalOptions& o, int64_t position, size_t column) {
  size_t i = 0;
  bool is_sine = true;
  auto divisor = static_cast<double>(o.dim);
  switch (o.layout) {
    case Layout::kInterleaved:
      i = column / 2;
      is_sine = column % 2 == 0;
      break;
    case Layout::kConcatenated: {
      const size_t sines = (o.dim + 1) / 2;
      is_sine = column < sines;
      i = is_sine ? column : column - sines;
      break;
    }
    case Layout::kTensor2Tensor: {
      const size_t half = o.dim / 2;
      if (column == 2 * half) return 0;
      is_sine = column < half;
      i = is_sine ? column : column - half;
      divisor = 2 * (static_cast<double>(half) - 1);
      break;
    }
  }
  const Real w = pow(o.base, Real(-2.0 * static_cast<double>(i)) / divisor);
  const ExactSinCos angle = exactSinCos(w * static_cast<double>(position));
  return o.scale * (is_sine ? angle.sin : angle.cos).toDouble();
}

double errorShare(const SinusoidalOptions& options, const std::vector<int64_t>& positions) {
  const std::vector<float> table = tableOf(options, positions);
  Worst worst;
  for (size_t r = 0; r < positions.size(); ++r) {
    for (size_t c = 0; c < options.dim; ++c) {
      const double expected = entry(options, positions[r], c);
      // Half an ulp, and as much as 0.001 of one from the sine in double; 2.99e-8 in the range of sines.
      const double tolerance = options.scale == 1 ? 2.99e-8 : 0.501 * ulpOfFloat(options.scale);
      worst.add(table[r * options.dim + c], expected, tolerance);
    }
  }
  return worst.share();
}

void checkPublished(const std::vector<float>& row, size_t first, const std::vector<double>& published,
                    double tolerance) {
  for (size_t i = 0; i < published.size(); ++i) CHECK(std::fabs(row[first + i] - published[i]) <= tolerance);
}

}  // namespace

TEST_CASE("Sinusoidal tables of all layouts are those of the formula", "[encodings]") {
  const std::vector<int64_t> positions = {
      0, 1, 2, 511, -3, 1 << 24, (int64_t{1} << 40) + 1, kMaxPosition, -kMaxPosition};
  for (const Layout layout : kLayouts) {
    for (const size_t dim : std::initializer_list<size_t>{4, 5, 6, 7, 18}) {
      for (const double base : {10000.0, 100.0, 1.5}) {
        INFO("layout " << static_cast<int>(layout) << ", dim = " << dim << ", base = " << base);
        CHECK(errorShare({dim, base, layout, 1}, positions) <= 1);
      }
    }
  }
}

TEST_CASE("Sinusoidal tables exist for one, two and three coordinates", "[encodings]") {
  for (const Layout layout : {Layout::kInterleaved, Layout::kConcatenated}) {
    for (const size_t dim : std::initializer_list<size_t>{1, 2, 3})
      CHECK(errorShare({dim, 10000, layout, 1}, {0, 1, 1000}) <= 1);
  }
}

TEST_CASE("The scale multiplies every entry before it is rounded", "[encodings]") {
  for (const Layout layout : kLayouts) {
    for (const double scale : {0.125, -3.0, 0.0441941738}) {
      const SinusoidalOptions options = {12, 10000, layout, scale};
      INFO("layout " << static_cast<int>(layout) << ", scale = " << scale);
      CHECK(errorShare(options, {0, 1, 77, -5}) <= 1);
    }
  }
  CHECK(tableOf({6, 10000, Layout::kInterleaved, 0}, {1, 2}) == std::vector<float>(12, 0.0f));
}

TEST_CASE("Layouts hold the same numbers in other places", "[encodings]") {
  const std::vector<float> interleaved = tableOf({10, 10000, Layout::kInterleaved, 1}, {123});
  const std::vector<float> concatenated = tableOf({10, 10000, Layout::kConcatenated, 1}, {123});
  for (size_t i = 0; i < 5; ++i) {
    CHECK(interleaved[2 * i] == concatenated[i]);
    CHECK(interleaved[2 * i + 1] == concatenated[5 + i]);
  }
}

TEST_CASE("Position 0 is all zeros and ones, and negative positions change the sign of sines",
          "[encodings]") {
  CHECK(tableOf({4, 10000, Layout::kInterleaved, 1}, {0}) == std::vector<float>{0, 1, 0, 1});
  CHECK(tableOf({5, 10000, Layout::kConcatenated, 1}, {0}) == std::vector<float>{0, 0, 0, 1, 1});
  CHECK(tableOf({5, 10000, Layout::kTensor2Tensor, 1}, {0}) == std::vector<float>{0, 0, 1, 1, 0});
  const std::vector<float> rows = tableOf({64, 10000, Layout::kInterleaved, 1}, {999, -999});
  for (size_t i = 0; i < 64; i += 2) {
    CHECK(rows[i] == -rows[64 + i]);
    CHECK(rows[i + 1] == rows[64 + i + 1]);
  }
}

// huggingface/transformers: tests/models/roformer, fsmt and marian; four to eight digits.
TEST_CASE("Sinusoidal tables are those that Hugging Face's tests publish", "[encodings]") {
  const std::vector<float> roformer = tableOf({6, 10000, Layout::kConcatenated, 1}, {1});
  checkPublished(roformer, 0, {0.8415, 0.0464, 0.0022, 0.5403, 0.9989, 1.0000}, 5.1e-5);
  const std::vector<float> wide = tableOf({512, 10000, Layout::kConcatenated, 1}, {1, 2});
  checkPublished(wide, 0, {0.8415, 0.8219, 0.8020, 0.7819, 0.7617}, 5.1e-5);
  checkPublished(wide, 512, {0.9093, 0.9364, 0.9581, 0.9749, 0.9870}, 5.1e-5);
  const std::vector<float> fsmt = tableOf({6, 10000, Layout::kTensor2Tensor, 1}, {2, 3});
  checkPublished(fsmt, 0, {0.90930, 0.019999, 0.0002, -0.41615, 0.99980, 1.0}, 5.1e-6);
  checkPublished(fsmt, 6, {0.14112, 0.029995, 0.0003, -0.98999, 0.99955, 1.0}, 5.1e-6);
  const std::vector<float> marian = tableOf({512, 10000, Layout::kTensor2Tensor, 1}, {1, 2});
  checkPublished(marian, 0, {0.84147096, 0.82177866, 0.80180490, 0.78165019, 0.76140374}, 6e-8);
  checkPublished(marian, 512, {0.90929741, 0.93651021, 0.95829457, 0.97505713, 0.98720258}, 6e-8);
}

TEST_CASE("A sinusoidal table that cannot be made leaves out as it was", "[encodings]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<float> out(16, 7.0f);
  const auto statusOf = [&](const SinusoidalOptions& options, int64_t position) {
    return sinusoidal(options, &position, 1, out.data());
  };
  CHECK(statusOf({0, 10000, Layout::kInterleaved, 1}, 0) == Status::kInvalidShape);
  CHECK(statusOf({3, 10000, Layout::kTensor2Tensor, 1}, 0) == Status::kInvalidShape);
  for (const double base : {0.0, -1.0, kNan, kInf}) {
    CHECK(statusOf({8, base, Layout::kInterleaved, 1}, 0) == Status::kInvalidArgument);
  }
  for (const double scale : {kNan, kInf, -kInf}) {
    CHECK(statusOf({8, 10000, Layout::kInterleaved, scale}, 0) == Status::kInvalidArgument);
  }
  for (const int64_t position : {kMaxPosition + 1, -kMaxPosition - 1, std::numeric_limits<int64_t>::min()}) {
    CHECK(statusOf({8, 10000, Layout::kInterleaved, 1}, position) == Status::kPositionOutOfRange);
  }
  CHECK(statusOf({SIZE_MAX - 1, 10000, Layout::kInterleaved, 1}, 0) == Status::kOutOfMemory);
  CHECK(out == std::vector<float>(16, 7.0f));
  CHECK(sinusoidal({8, 10000, Layout::kInterleaved, 1}, nullptr, 0, nullptr) == Status::kOk);
}

TEST_CASE("A base whose frequencies are too large for a phase is an invalid argument", "[encodings]") {
  std::vector<float> out(16);
  const int64_t position = 1;
  CHECK(sinusoidal({16, 1e-300, Layout::kInterleaved, 1}, &position, 1, out.data()) ==
        Status::kInvalidArgument);
}

}  // namespace ropewalk::test
