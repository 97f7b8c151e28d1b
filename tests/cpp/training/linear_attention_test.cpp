// Linear attention of training: weights by their definition, gradients by central differences.
#include "training/linear_attention.h"

#include <string>
#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/central_differences.h"
#include "training/head_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

constexpr LinearKernel kKernels[] = {LinearKernel::kElu1, LinearKernel::kRelu, LinearKernel::kExp,
                                     LinearKernel::kCosine};
constexpr const char* kKernelNames[] = {"elu + 1", "relu", "exp", "cosine"};
constexpr LinearRotation kRotations[] = {LinearRotation::kNone, LinearRotation::kNumerator,
                                         LinearRotation::kBoth};
constexpr const char* kRotationNames[] = {"no rotation", "numerator", "both"};
constexpr size_t kDim = 4;

template <class T>
struct LinearData {
  HeadData<T> head;
  std::vector<T> cos, sin;
  LinearKernel kernel;
  LinearRotation rotation;

  LinearData(Random& random, size_t tokens, bool causal, LinearKernel k, LinearRotation r)
      : head(random, tokens, causal, kDim, 3, {}), kernel(k), rotation(r) {
    // Slow, so that no denominator of turned features comes near 0.
    const double step = std::min(0.1, 1.7 / static_cast<double>(tokens));
    for (size_t i = 0; i < tokens * kDim / 2; ++i) {
      const double angle = step * static_cast<double>(i / (kDim / 2)) / (1 + static_cast<double>(i % 2));
      cos.push_back(static_cast<T>(1.2 * std::cos(angle)));
      sin.push_back(static_cast<T>(1.2 * std::sin(angle)));
    }
  }

  LinearHead<T> input() const {
    LinearHead<T> in;
    in.head = head.input();
    in.kernel = kernel;
    in.rotation = rotation;
    in.angles = {cos.data(), sin.data(), kDim / 2};
    return in;
  }

  // A feature of token t by its definition; x is q or k.
  std::vector<double> feature(const std::vector<T>& x, size_t t, bool turned) const {
    std::vector<double> phi(kDim);
    double length = 0;
    for (size_t e = 0; e < kDim; ++e) {
      const double v = x[t * (kDim + 2) + e];
      length += v * v;
      phi[e] = kernel == LinearKernel::kElu1   ? (v > 0 ? v + 1 : std::exp(v))
               : kernel == LinearKernel::kRelu ? std::max(v, 0.0)
               : kernel == LinearKernel::kExp  ? std::exp(v)
                                               : v;
    }
    if (kernel == LinearKernel::kCosine) {
      for (double& v : phi) v /= std::sqrt(length);
    }
    for (size_t j = 0; turned && j < kDim / 2; ++j) {
      const double c = cos[t * kDim / 2 + j];
      const double s = sin[t * kDim / 2 + j];
      const double a = phi[j];
      const double b = phi[kDim / 2 + j];
      phi[j] = a * c - b * s;
      phi[kDim / 2 + j] = a * s + b * c;
    }
    return phi;
  }

  double weight(size_t i, size_t j, bool turned) const {
    return dotOf(feature(head.q, i, turned), feature(head.k, j, turned)) +
           (kernel == LinearKernel::kCosine ? 1 : 0);
  }
};

template <class T>
double valueShare(const LinearData<T>& data, double unit) {
  const Distances d = data.head.distances;
  std::vector<T> weights(d.tokens * d.tokens, kNaN), denominators(d.tokens, kNaN), out(d.tokens * 3, kNaN);
  std::vector<T> room(linearAttentionRoom(d, kDim), kNaN);
  linearAttentionForward({weights.data()}, denominators.data(), out.data(), 3, data.input(), room.data());
  Worst worst;
  std::vector<double> expected(weights.size(), 0);
  for (size_t i = 0; i < d.tokens; ++i) {
    double total = 0;
    for (size_t j = 0; j < d.keys(i); ++j) total += data.weight(i, j, data.rotation == LinearRotation::kBoth);
    worst.add(denominators[i], total, unit * 100 * std::max(1.0, total));
    for (size_t j = 0; j < d.tokens; ++j) {
      if (j < d.keys(i) && total != 0)
        expected[i * d.tokens + j] = data.weight(i, j, data.rotation != LinearRotation::kNone) / total;
      worst.add(weights[i * d.tokens + j], expected[i * d.tokens + j], unit * 1000);
    }
  }
  const std::vector<double> mixed = data.head.mixed(expected);
  for (size_t i = 0; i < mixed.size(); ++i) worst.add(out[i], mixed[i], unit * 3000);
  return worst.share();
}

}  // namespace

TEST_CASE("Linear attention of training has the weights of its definition", "[training]") {
  for (const LinearKernel kernel : kKernels) {
    for (const LinearRotation rotation : kRotations) {
      for (const bool causal : {false, true}) {
        Random random(14);
        for (const size_t tokens : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{17}, size_t{140}}) {
          LinearData<double> data(random, tokens, causal, kernel, rotation);
          LinearData<float> floats(random, tokens, causal, kernel, rotation);
          if (kernel == LinearKernel::kRelu) {  // no denominator near 0
            for (size_t t = 0; t < tokens; ++t) {
              data.head.q[t * (kDim + 2)] = data.head.k[t * (kDim + 2)] = 0.9;
              floats.head.q[t * (kDim + 2)] = floats.head.k[t * (kDim + 2)] = 0.9f;
            }
          }
          INFO(kKernelNames[static_cast<int>(kernel)] << ", " << kRotationNames[static_cast<int>(rotation)]);
          CHECK(valueShare(data, 0x1p-53) <= 1);
          CHECK(valueShare(floats, kUnit) <= 1);
        }
      }
    }
  }
}

TEST_CASE("Gradients of linear attention", "[training]") {
  for (const LinearKernel kernel : kKernels) {
    for (const LinearRotation rotation : kRotations) {
      for (const bool causal : {false, true}) {
        Random random(15);
        LinearData<double> data(random, 6, causal, kernel, rotation);
        for (size_t t = 0; kernel == LinearKernel::kRelu && t < 6; ++t)
          data.head.q[t * (kDim + 2)] = data.head.k[t * (kDim + 2)] = 0.9;
        std::vector<double> weights(36, kNaN), denominators(6, kNaN), out(18, kNaN);
        std::vector<double> room(linearAttentionRoom(data.head.distances, kDim), kNaN);
        const auto loss = [&] {
          linearAttentionForward({weights.data()}, denominators.data(), out.data(), 3, data.input(),
                                 room.data());
          return dotOf(out, data.head.c);
        };
        loss();
        HeadGradientData gradients(data.head);
        linearAttentionBackward(gradients.parts(data.head), data.head.c.data(), 3, {weights.data()},
                                denominators.data(), data.input(), room.data());
        const std::string line = std::string("linear attention, ") + kKernelNames[static_cast<int>(kernel)] +
                                 ", " + kRotationNames[static_cast<int>(rotation)] +
                                 (causal ? ", causal" : "");
        CHECK(reported(line.c_str(), gradients.largestError(data.head, loss)) < kGradientTolerance);
      }
    }
  }
}

TEST_CASE("Gradients of linear attention by several blocks, with weights kept or computed again",
          "[training]") {
  constexpr size_t kTokens = 140;
  for (const LinearKernel kernel : kKernels) {
    for (const LinearRotation rotation : kRotations) {
      for (const bool causal : {false, true}) {
        Random random(26);
        LinearData<double> data(random, kTokens, causal, kernel, rotation);
        for (size_t t = 0; kernel == LinearKernel::kRelu && t < kTokens; ++t)
          data.head.q[t * (kDim + 2)] = data.head.k[t * (kDim + 2)] = 0.9;
        std::vector<double> weights(kTokens * kTokens, kNaN), denominators(kTokens, kNaN),
            out(kTokens * 3, kNaN);
        std::vector<double> room(linearAttentionRoom(data.head.distances, kDim), kNaN);
        const auto gradientsOf = [&](bool kept) {
          const HeadWeights<double> of_head = {weights.data(), kept};
          linearAttentionForward(of_head, denominators.data(), out.data(), 3, data.input(), room.data());
          HeadGradientData gradients(data.head);
          linearAttentionBackward(gradients.parts(data.head), data.head.c.data(), 3, of_head,
                                  denominators.data(), data.input(), room.data());
          return gradients;
        };
        const auto loss = [&] {
          linearAttentionForward({weights.data(), false}, denominators.data(), out.data(), 3, data.input(),
                                 room.data());
          return dotOf(out, data.head.c);
        };
        const HeadGradientData kept = gradientsOf(true);
        const HeadGradientData again = gradientsOf(false);
        CHECK((sameBits(kept.q, again.q) && sameBits(kept.k, again.k) && sameBits(kept.v, again.v)));
        const std::string line = std::string("linear attention by blocks, ") +
                                 kKernelNames[static_cast<int>(kernel)] + ", " +
                                 kRotationNames[static_cast<int>(rotation)] + (causal ? ", causal" : "");
        CHECK(reported(line.c_str(), again.largestErrorAlong(random, data.head, loss)) < kGradientTolerance);
      }
    }
  }
}

TEST_CASE("A row without a denominator has no weights and passes no gradient on", "[training]") {
  Random random(16);
  LinearData<double> data(random, 3, true, LinearKernel::kRelu, LinearRotation::kNone);
  for (double& v : data.head.q) v = -1;
  std::vector<double> weights(9, kNaN), denominators(3, kNaN), out(9, kNaN);
  std::vector<double> room(linearAttentionRoom(data.head.distances, kDim), kNaN);
  linearAttentionForward({weights.data()}, denominators.data(), out.data(), 3, data.input(), room.data());
  HeadGradientData gradients(data.head);
  linearAttentionBackward(gradients.parts(data.head), data.head.c.data(), 3, {weights.data()},
                          denominators.data(), data.input(), room.data());
  const auto zero = [](double x) { return x == 0; };
  CHECK(std::all_of(weights.begin(), weights.end(), zero));
  CHECK(std::all_of(out.begin(), out.end(), zero));
  CHECK(std::all_of(gradients.k.begin(), gradients.k.end(), zero));
}

}  // namespace ropewalk::test
