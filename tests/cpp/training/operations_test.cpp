// The operations of training without attention: values by their definition, gradients by central differences.
#include <string>
#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/activation.h"
#include "training/axial.h"
#include "training/central_differences.h"
#include "training/cross_entropy.h"
#include "training/embedding.h"
#include "training/norm.h"
#include "training/products.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

struct ProductShape {
  size_t m, n, k;
};

// The largest error of one product as a share of what its roundings may cost.
template <class T>
double productShare(Random& random, ProductShape s, bool a_transposed, bool b_transposed, bool add,
                    Triangle triangle, size_t diagonal, double unit) {
  const size_t a_stride = (a_transposed ? s.m : s.k) + 1;
  const size_t b_stride = (b_transposed ? s.k : s.n) + 2;
  const size_t out_stride = s.n + 3;
  std::vector<T> a = converted<T>(randomDoubles(random, (a_transposed ? s.k : s.m) * a_stride));
  const std::vector<T> b = converted<T>(randomDoubles(random, (b_transposed ? s.n : s.k) * b_stride));
  std::vector<T> out = converted<T>(randomDoubles(random, s.m * out_stride));
  const auto a_at = [&](size_t i, size_t l) { return a_transposed ? l * a_stride + i : i * a_stride + l; };
  for (size_t i = 0; i < s.m; ++i) {
    for (size_t l = 0; l < s.k; ++l) {
      if ((triangle == Triangle::kLower && l > i + diagonal) ||
          (triangle == Triangle::kUpper && l + diagonal < i))
        a[a_at(i, l)] = 0;
    }
  }
  const std::vector<T> before = out;
  product<T>(out.data(), out_stride, {a.data(), a_stride, a_transposed}, {b.data(), b_stride, b_transposed},
             s.m, s.n, s.k, add, triangle, diagonal);
  Worst worst;
  for (size_t i = 0; i < s.m; ++i) {
    for (size_t j = 0; j < out_stride; ++j) {
      const size_t at = i * out_stride + j;
      if (j >= s.n) {
        worst.add(out[at], before[at], 0);
        continue;
      }
      if (triangle == Triangle::kOut && j > i + diagonal) continue;
      double sum = add ? before[at] : 0;
      for (size_t l = 0; l < s.k; ++l) {
        sum += static_cast<double>(a[a_at(i, l)]) *
               static_cast<double>(b[b_transposed ? j * b_stride + l : l * b_stride + j]);
      }
      worst.add(out[at], sum, unit * static_cast<double>(s.k + 2) * static_cast<double>(s.k + 1));
    }
  }
  return worst.share();
}

struct NormErrors {
  double x, weight, bias;
};

NormErrors normErrors(bool centered) {
  constexpr size_t kRows = 3;
  constexpr size_t kN = 7;
  Random random(5);
  std::vector<double> x = randomDoubles(random, kRows * kN);
  std::vector<double> weight = randomDoubles(random, kN, 0.5, 1.5);
  std::vector<double> bias = randomDoubles(random, kN);
  const std::vector<double> c = randomDoubles(random, kRows * kN);
  std::vector<double> out(kRows * kN), mean(kRows), inverse(kRows);
  const NormParts<const double> parts = {weight.data(), centered ? bias.data() : nullptr};
  const auto loss = [&] {
    normForward<double>(out.data(), {mean.data(), inverse.data()}, x.data(), parts, 1e-6, kRows, kN);
    return dotOf(out, c);
  };
  loss();
  std::vector<double> dx(kRows * kN), dweight(kN), dbias(kN);
  normBackward<double>(dx.data(), {dweight.data(), centered ? dbias.data() : nullptr}, c.data(), x.data(),
                       {mean.data(), inverse.data()}, parts, kRows, kN);
  return {gradientError(x, dx, loss), gradientError(weight, dweight, loss),
          centered ? gradientError(bias, dbias, loss) : 0};
}

}  // namespace

TEST_CASE("Products are sums of products, whichever side is transposed and whatever is left out",
          "[training]") {
  Random random(1);
  constexpr size_t kSizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
  constexpr Triangle kTriangles[] = {Triangle::kNone, Triangle::kOut, Triangle::kLower, Triangle::kUpper};
  std::vector<ProductShape> shapes = {{65, 67, 131}, {1, 1, 300}, {140, 1, 5}, {6, 130, 257}};
  for (const size_t m : kSizes) {
    for (const size_t n : kSizes) {
      for (const size_t k : kSizes) shapes.push_back({m, n, k});
    }
  }
  double in_float = 0;
  double in_double = 0;
  for (const ProductShape& s : shapes) {
    for (size_t i = 0; i < 8; ++i) {
      const Triangle triangle = kTriangles[random.bits() % 4];
      const bool a_transposed = (i & 1) != 0;
      const bool b_transposed = (i & 2) != 0;
      const bool add = (i & 4) != 0;
      const size_t diagonal = random.bits() % 2 == 0 ? 0 : random.bits() % 140;
      in_float = std::max(in_float, productShare<float>(random, s, a_transposed, b_transposed, add, triangle,
                                                        diagonal, kUnit));
      in_double = std::max(in_double, productShare<double>(random, s, a_transposed, b_transposed, add,
                                                           triangle, diagonal, 0x1p-53));
    }
  }
  CHECK(in_float <= 1);
  CHECK(in_double <= 1);
}

TEST_CASE("Gradients of products are products", "[training]") {
  constexpr size_t kM = 5, kN = 4, kK = 3;
  Random random(2);
  std::vector<double> x = randomDoubles(random, kM * kK);
  std::vector<double> w = randomDoubles(random, kN * kK);
  const std::vector<double> c = randomDoubles(random, kM * kN);
  std::vector<double> y(kM * kN), dx(kM * kK), dw(kN * kK, 0);
  const auto loss = [&] {
    product<double>(y.data(), kN, {x.data(), kK}, {w.data(), kK, true}, kM, kN, kK, false);
    return dotOf(y, c);
  };
  product<double>(dx.data(), kK, {c.data(), kN}, {w.data(), kK}, kM, kK, kN, false);
  product<double>(dw.data(), kK, {c.data(), kN, true}, {x.data(), kK}, kN, kK, kM, true);
  CHECK(reported("product, inputs", gradientError(x, dx, loss)) < kGradientTolerance);
  CHECK(reported("product, weights", gradientError(w, dw, loss)) < kGradientTolerance);
}

TEST_CASE("Gradients of norms", "[training]") {
  for (const bool centered : {false, true}) {
    const NormErrors errors = normErrors(centered);
    const std::string name = centered ? "layer norm, " : "root mean square norm, ";
    CHECK(reported((name + "inputs").c_str(), errors.x) < kGradientTolerance);
    CHECK(reported((name + "weight").c_str(), errors.weight) < kGradientTolerance);
    if (centered) CHECK(reported((name + "bias").c_str(), errors.bias) < kGradientTolerance);
  }
}

TEST_CASE("Norms of rows whose squares are beyond float32", "[training]") {
  const float x[] = {3e25f, -4e25f, 0, 0};
  const float weight[] = {1, 1, 1, 1};
  float out[4], mean = 0, inverse = 0;
  normForward<float>(out, {&mean, &inverse}, x, {weight, nullptr}, 1e-6f, 1, 4);
  CHECK(std::fabs(out[0] - 1.2f) < 1e-6f);
  CHECK(std::fabs(out[1] + 1.6f) < 1e-6f);
  CHECK(out[2] == 0);
}

TEST_CASE("Activations give the kernel's values and the slopes of their function", "[training]") {
  for (const Activation f : {Activation::kGelu, Activation::kSilu}) {
    Random random(3);
    const char* name = f == Activation::kGelu ? "GELU" : "SiLU";
    std::vector<double> x = randomDoubles(random, 101, -6, 6);
    x.front() = 0;
    const std::vector<double> c = randomDoubles(random, 101);
    std::vector<double> y(101), slope(101), dx(101);
    const auto loss = [&] {
      std::vector<double> unused(101);
      activateWithSlope(f, y.data(), unused.data(), x.data(), x.size());
      return dotOf(y, c);
    };
    activateWithSlope(f, y.data(), slope.data(), x.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) dx[i] = c[i] * slope[i];
    CHECK(reported(name, gradientError(x, dx, loss)) < kGradientTolerance);

    // In float: the values within 8 roundings, the slope, at most 1.13, within 16.
    for (const size_t n : kernelSizes()) {
      std::vector<float> in = random.floats(n, 9);
      if (n > 2) in[1] = 60, in[2] = -60;
      std::vector<float> value(n, kNaN), found(n, kNaN), kernel(n);
      activateWithSlope(f, value.data(), found.data(), in.data(), n);
      activate(f, kernel.data(), in.data(), n);
      std::vector<double> exact(n), expected(n);
      const std::vector<double> wide(in.begin(), in.end());
      activateWithSlope(f, exact.data(), expected.data(), wide.data(), n);
      CHECK(largestDifference(found, expected) <= 16 * kUnit);
      Worst worst;
      for (size_t i = 0; i < n; ++i) {
        worst.add(value[i], exact[i], 8 * kUnit * std::max(1.0, std::fabs(exact[i])));
        worst.add(value[i], kernel[i], 8 * kUnit * std::max(1.0, std::fabs(exact[i])));
      }
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("Cross entropy: the loss by its definition, its gradient, and rows of weight 0", "[training]") {
  constexpr size_t kRows = 4, kClasses = 6;
  Random random(4);
  std::vector<double> x = randomDoubles(random, kRows * kClasses, -3, 3);
  const std::vector<int32_t> targets = {5, 0, -7, 2};  // the third is not read
  const std::vector<double> weights = {1, 0.5, 0, 2};
  const auto loss = [&] {
    std::vector<double> logits = x;
    return crossEntropy(logits.data(), targets.data(), weights.data(), kRows, kClasses);
  };
  double expected = 0;
  for (const size_t r : {size_t{0}, size_t{1}, size_t{3}}) {
    double total = 0;
    for (size_t c = 0; c < kClasses; ++c) total += std::exp(x[r * kClasses + c]);
    expected += weights[r] * (std::log(total) - x[r * kClasses + static_cast<size_t>(targets[r])]);
  }
  CHECK(std::fabs(loss() - expected / 3.5) < 1e-14);
  std::vector<double> gradient = x;
  std::vector<double> losses(kRows);
  std::vector<int32_t> predictions(kRows);
  crossEntropy<double>(gradient.data(), targets.data(), weights.data(), kRows, kClasses,
                       {losses.data(), predictions.data()});
  CHECK(reported("softmax and cross entropy", gradientError(x, gradient, loss)) < kGradientTolerance);
  CHECK(losses[2] == 0);
  CHECK(std::all_of(gradient.begin() + 12, gradient.begin() + 18, [](double g) { return g == 0; }));
  for (size_t r = 0; r < kRows; ++r) {
    const auto best = std::max_element(x.begin() + static_cast<std::ptrdiff_t>(r * kClasses),
                                       x.begin() + static_cast<std::ptrdiff_t>((r + 1) * kClasses));
    CHECK(predictions[r] == best - x.begin() - static_cast<std::ptrdiff_t>(r * kClasses));
  }

  // The target's probability is 0 in float, its loss is not infinite.
  std::vector<float> far = {200, 0};
  const int32_t target = 1;
  CHECK(crossEntropy<float>(far.data(), &target, nullptr, 1, 2) == 200);
}

TEST_CASE("Cross entropy of more rows than are added up at once", "[training]") {
  constexpr size_t kClasses = 3;
  for (const size_t rows : {size_t{512}, size_t{513}, size_t{1100}}) {
    Random random(7);
    const std::vector<double> x = randomDoubles(random, rows * kClasses, -3, 3);
    std::vector<double> weights = randomDoubles(random, rows, 0, 2);
    std::vector<int32_t> targets;
    for (size_t r = 0; r < rows; ++r) targets.push_back(static_cast<int32_t>(random.between(0, 2)));
    for (const bool weighted : {true, false}) {
      if (!weighted) weights.assign(rows, 1);
      double loss = 0;
      double total = 0;
      for (const double w : weights) total += w;
      std::vector<double> expected(x.size()), found = x;
      for (size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (size_t c = 0; c < kClasses; ++c) sum += std::exp(x[r * kClasses + c]);
        for (size_t c = 0; c < kClasses; ++c) {
          const bool is_target = static_cast<size_t>(targets[r]) == c;
          const double p = std::exp(x[r * kClasses + c]) / sum;
          if (is_target) loss -= weights[r] / total * std::log(p);
          expected[r * kClasses + c] = weights[r] / total * (p - (is_target ? 1 : 0));
        }
      }
      const double* const given = weighted ? weights.data() : nullptr;
      CHECK(std::fabs(crossEntropy(found.data(), targets.data(), given, rows, kClasses) - loss) < 1e-13);
      CHECK(largestDifference(found, expected) < 1e-16);
    }
  }
}

TEST_CASE("Gradients of embeddings reach every use of a token and of a position", "[training]") {
  constexpr size_t kVocab = 5, kDim = 3, kBatch = 2, kTokens = 4;
  const std::vector<int32_t> ids = {0, 3, 3, 1, 4, 0, 3, 0};
  for (const LearnedMode mode : {LearnedMode::kAdd, LearnedMode::kMultiply, LearnedMode::kConcatenate}) {
    Random random(6);
    const size_t position_dim = mode == LearnedMode::kConcatenate ? 2 : kDim;
    const size_t dim = mode == LearnedMode::kConcatenate ? kDim + 2 : kDim;
    std::vector<double> table = randomDoubles(random, kVocab * kDim);
    std::vector<double> positions = randomDoubles(random, kTokens * position_dim);
    const std::vector<double> c = randomDoubles(random, kBatch * kTokens * dim);
    const EmbeddingInput<double> input = {ids.data(),       kBatch, kTokens, table.data(),
                                          positions.data(), mode,   kDim,    position_dim};
    std::vector<double> h(c.size()), dtable(table.size(), 0), dpositions(positions.size(), 0);
    const auto loss = [&] {
      embeddingForward(h.data(), input);
      return dotOf(h, c);
    };
    embeddingBackward(dtable.data(), dpositions.data(), c.data(), input);
    constexpr const char* kNames[] = {"add", "multiply", "concatenate"};
    const std::string name = kNames[static_cast<int>(mode)];
    CHECK(reported(("embedding, " + name).c_str(), gradientError(table, dtable, loss)) < kGradientTolerance);
    CHECK(reported(("learned positions, " + name).c_str(), gradientError(positions, dpositions, loss)) <
          kGradientTolerance);
  }
}

TEST_CASE("Gradients of a grid's vectors reach every place of their row and column", "[training]") {
  const AxialShape shape = {11, 4, 3};  // tokens, columns, dim
  Random random(43);
  std::vector<double> rows = randomDoubles(random, 3 * shape.dim);
  std::vector<double> columns = randomDoubles(random, shape.columns * shape.dim);
  const std::vector<double> c = randomDoubles(random, shape.tokens * shape.dim);
  std::vector<double> out(c.size(), kNaN), drows(rows.size(), 0), dcolumns(columns.size(), 0);
  const auto loss = [&] {
    axialPositions<double>(out.data(), {rows.data(), columns.data()}, shape);
    return dotOf(out, c);
  };
  axialBackward<double>({drows.data(), dcolumns.data()}, c.data(), shape);
  CHECK(reported("grid, rows", gradientError(rows, drows, loss)) < kGradientTolerance);
  CHECK(reported("grid, columns", gradientError(columns, dcolumns, loss)) < kGradientTolerance);
}

}  // namespace ropewalk::test
