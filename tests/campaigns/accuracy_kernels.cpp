// accuracy_kernels SCALE: measures the errors of kernels against quadruple precision (libquadmath), and of
// float32 gradients against float64 ones, which the tests compare with central differences. Prints a row of a
// table for each: what, where, values compared, largest error, its unit, and the bound that holds. Exits with
// 1 above a bound. SCALE multiplies how many values are tried.
#include <quadmath.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/activation.h"
#include "kernels/exp.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/packed_matrix.h"
#include "kernels/softmax.h"
#include "training/trainer.h"

namespace {

using Quad = __float128;
using namespace ropewalk;

size_t scale = 1;
bool failed = false;
std::mt19937_64 source(20261126);

void row(const std::string& what, const std::string& where, size_t values, double worst, const char* unit,
         double bound) {
  std::printf("| %s | %s | %zu | %.3g %s | %.3g |\n", what.c_str(), where.c_str(), values, worst, unit,
              bound);
  failed = failed || !(worst <= bound);
}

// The distance of two neighbouring floats at a number.
Quad ulpOf(Quad x) {
  int exponent = 0;
  frexpq(x, &exponent);
  return ldexpq(1, std::max(exponent - 24, -149));
}

double inUlp(float got, Quad want) {
  return static_cast<double>(fabsq(got - want) / ulpOf(want));
}

float normal() {
  static std::normal_distribution<float> distribution;
  return distribution(source);
}

std::vector<float> normals(size_t n, float deviation = 1, float mean = 0) {
  std::vector<float> x(n);
  for (float& each : x) each = mean + deviation * normal();
  return x;
}

// Floats from low to high, as many between any two powers of two.
std::vector<float> everywhere(float low, float high) {
  std::vector<float> x;
  const uint32_t step = std::max<uint32_t>(1, static_cast<uint32_t>(997 / scale));
  for (uint32_t bits = 0; bits < 0x7f800000 - step; bits += step) {
    const auto each = std::bit_cast<float>(bits);
    if (each <= high) x.push_back(each);
    if (-each >= low) x.push_back(-each);
  }
  return x;
}

using Function = void (*)(float* out, const float* x, size_t n);

// Results that are subnormal are left out: they have fewer digits.
void measureFunction(const char* name, float low, float high, Function f, Quad (*reference)(Quad),
                     double bound) {
  const std::vector<float> x = everywhere(low, high);
  std::vector<float> out(x.size());
  f(out.data(), x.data(), x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Quad want = reference(x[i]);
    if (fabsq(want) >= 0x1p-126Q) worst = std::max(worst, inUlp(out[i], want));
  }
  char where[64];
  std::snprintf(where, sizeof where, "%g to %g", low, high);
  row(name, where, x.size(), worst, "ulp", bound);
}

void expOf(float* out, const float* x, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    float lanes[4] = {};
    std::copy_n(x + i, std::min<size_t>(4, n - i), lanes);
    simd::store(lanes, exp(simd::load(lanes)));
    std::copy_n(lanes, std::min<size_t>(4, n - i), out + i);
  }
}

template <Activation f>
void activationOf(float* out, const float* x, size_t n) {
  activate(f, out, x, n);
}

Quad gelu(Quad x) {
  return x * erfcq(-x / M_SQRT2q) / 2;
}

Quad silu(Quad x) {
  return x / (1 + expq(-x));
}

void measureFunctions() {
  measureFunction("exp", -87.33F, 88.3F, expOf, expq, 1.5);
  measureFunction("GELU", -13, 1e4F, activationOf<Activation::kGelu>, gelu, 5);
  measureFunction("SiLU", -87, 1e4F, activationOf<Activation::kSilu>, silu, 4);
  measureFunction("tanh", -20, 20, activationOf<Activation::kTanh>, tanhq, 2);
}

// The largest error of rows, in ulp of the largest result of each.
struct RowErrors {
  size_t values = 0;
  double worst = 0;

  void add(const std::vector<float>& got, const std::vector<Quad>& want) {
    Quad largest = 0;
    for (const Quad each : want) largest = std::max(largest, fabsq(each));
    values += want.size();
    for (size_t i = 0; i < want.size(); ++i)
      worst = std::max(worst, static_cast<double>(fabsq(got[i] - want[i]) / ulpOf(largest)));
  }
};

constexpr size_t kLengths[] = {1, 2, 3, 7, 64, 129, 1000, 4096};

void measureSoftmax() {
  for (const float deviation : {1.F, 10.F}) {
    RowErrors errors;
    for (const size_t n : kLengths) {
      for (size_t round = 0; round < 40 * scale; ++round) {
        const std::vector<float> x = normals(n, deviation);
        std::vector<float> out(n);
        softmaxRows(out.data(), n, x.data(), n, 1, n);
        const float largest = *std::max_element(x.begin(), x.end());
        std::vector<Quad> want(n);
        Quad sum = 0;
        for (size_t i = 0; i < n; ++i) sum += want[i] = expq(Quad{x[i]} - largest);
        for (Quad& each : want) each /= sum;
        errors.add(out, want);
      }
    }
    row("softmax", "1 to 4096 scores of deviation " + std::to_string(static_cast<int>(deviation)),
        errors.values, errors.worst, "ulp of the row's largest", 8);
  }
}

void measureNorms() {
  for (const float mean : {0.F, 1e4F}) {
    RowErrors errors[2];
    const double eps = 1e-5;
    for (const size_t n : kLengths) {
      for (size_t round = 0; round < 40 * scale; ++round) {
        const std::vector<float> x = normals(n, 1, mean);
        const std::vector<float> weight = normals(n);
        std::vector<float> out(n);
        Quad sum = 0;
        for (const float each : x) sum += each;
        const Quad average = sum / n;
        Quad squares = 0;
        Quad deviations = 0;
        for (const float each : x) {
          squares += Quad{each} * each;
          deviations += (each - average) * (each - average);
        }
        std::vector<Quad> want(n);
        layerNorm(out.data(), x.data(), 1, n, {.weight = weight.data(), .eps = eps});
        for (size_t i = 0; i < n; ++i) want[i] = (x[i] - average) / sqrtq(deviations / n + eps) * weight[i];
        errors[0].add(out, want);
        rmsNorm(out.data(), x.data(), 1, n, {.weight = weight.data(), .eps = eps});
        for (size_t i = 0; i < n; ++i) want[i] = x[i] / sqrtq(squares / n + eps) * weight[i];
        errors[1].add(out, want);
      }
    }
    const std::string where = "rows of 1 to 4096 around " + std::to_string(static_cast<int>(mean));
    row("layer norm", where, errors[0].values, errors[0].worst, "ulp of the row's largest", 6);
    row("RMS norm", where, errors[1].values, errors[1].worst, "ulp of the row's largest", 4);
  }
}

struct Format {
  const char* name;
  WeightType type;
};

constexpr Format kFormats[] = {
    {"float32", WeightType::kFloat32}, {"float16", WeightType::kFloat16}, {"bfloat16", WeightType::kBfloat16},
    {"Q4_0", WeightType::kQ4_0},       {"Q4_1", WeightType::kQ4_1},       {"Q5_0", WeightType::kQ5_0},
    {"Q5_1", WeightType::kQ5_1},       {"Q8_0", WeightType::kQ8_0},       {"Q4_K", WeightType::kQ4_K},
    {"Q5_K", WeightType::kQ5_K},       {"Q6_K", WeightType::kQ6_K}};

// Against the exact product of the inputs with the weights as they are stored, over the sum of the products'
// sizes. In integers the inputs are rounded to 8 bits, in blocks: that is the error.
void measureProduct(const Format& format, bool in_floats, double bound) {
  const size_t n = 96;
  const size_t k = 2048;
  double worst = 0;
  size_t values = 0;
  for (size_t round = 0; round < scale; ++round) {
    const std::vector<float> weights = normals(n * k);
    PackedMatrix w;
    if (w.allocate(n, k, format.type, in_floats) != Status::kOk) std::abort();
    if (w.packRows(0, n, WeightType::kFloat32, weights.data()) != Status::kOk) std::abort();
    std::vector<float> stored(n * k);
    for (size_t r = 0; r < n; ++r) w.row(r, stored.data() + r * k);
    for (const size_t m : {1, 3, 16}) {
      const std::vector<float> a = normals(m * k);
      std::vector<float> out(m * n);
      gemm(out.data(), n, a.data(), k, w, m);
      values += m * n;
      for (size_t i = 0; i < m * n; ++i) {
        Quad sum = 0;
        Quad sizes = 0;
        for (size_t l = 0; l < k; ++l) {
          const Quad product = Quad{a[i / n * k + l]} * stored[i % n * k + l];
          sum += product;
          sizes += fabsq(product);
        }
        worst = std::max(worst, static_cast<double>(fabsq(out[i] - sum) / sizes));
      }
    }
  }
  const bool has_codes = format.type >= WeightType::kQ4_0;
  row(std::string("product with ") + format.name,
      has_codes ? in_floats ? "in float32" : "in integers" : "2048 inputs", values, worst,
      "of the sum of sizes", bound);
}

void measureProducts() {
  for (const Format& format : kFormats) {
    measureProduct(format, true, 0x1p-20);
    if (format.type >= WeightType::kQ4_0) measureProduct(format, false, 0.5 / 127);
  }
}

// Every encoding that trains, with softmax.
constexpr const char* kPositions[] = {
    "none",         "sinusoidal",         "binary", "learned", "RoPE",   "ALiBi", "T5", "KERPLE", "Shaw",
    "relative key", "relative key query", "M3",     "PoPE",    "forget", "FIRE"};

void measureGradients() {
  using namespace training;
  const size_t tokens = 32;
  for (size_t kind = 0; kind < std::size(kPositions); ++kind) {
    TrainerOptions options;
    ModelOptions& model = options.model;
    model.vocab = 17;
    model.model_dim = 32;
    model.heads = 4;
    model.layers = 2;
    model.hidden_dim = 64;
    model.position.kind = static_cast<PositionKind>(kind);
    model.position.length = tokens;
    model.position.num_buckets = 8;
    model.position.max_distance = 16;
    model.position.max_relative = 4;
    model.position.width = 8;
    model.position.threshold = 3.3;
    model.position.base = 10000;
    model.position.frequencies.base = 10000;
    Trainer<float> narrow;
    Trainer<double> wide;
    if (narrow.create(options) != Status::kOk || wide.create(options) != Status::kOk) std::abort();
    const size_t size = narrow.layout().size();
    double worst = 0;
    for (size_t round = 0; round < 4 * scale; ++round) {
      for (size_t i = 0; i < size; ++i) {
        narrow.parameters()[i] += 0.02F * normal();
        wide.parameters()[i] = narrow.parameters()[i];
      }
      std::vector<int32_t> ids(2 * tokens);
      std::vector<int32_t> targets(2 * tokens);
      for (auto* list : {&ids, &targets})
        for (int32_t& id : *list) id = static_cast<int32_t>(source() % model.vocab);
      const Sequences sequences{.ids = ids.data(), .batch = 2, .tokens = tokens};
      double loss = 0;
      if (narrow.differentiate({.sequences = sequences, .targets = targets.data()}, &loss) != Status::kOk ||
          wide.differentiate({.sequences = sequences, .targets = targets.data()}, &loss) != Status::kOk)
        std::abort();
      double largest_of_all = 0;
      for (size_t i = 0; i < size; ++i)
        largest_of_all = std::max(largest_of_all, std::abs(wide.gradients()[i]));
      for (size_t p = 0; p < narrow.layout().count(); ++p) {
        const Parameter& parameter = narrow.layout()[p];
        double largest = 0;
        double error = 0;
        for (size_t i = parameter.offset; i < parameter.offset + parameter.shape.size(); ++i) {
          largest = std::max(largest, std::abs(wide.gradients()[i]));
          error = std::max(error, std::abs(narrow.gradients()[i] - wide.gradients()[i]));
        }
        // FIRE's last bias moves all scores of a row alike: its gradient is 0 but for roundings.
        worst = std::max(worst, error / std::max(largest, 1e-3 * largest_of_all));
      }
    }
    row(std::string("gradients, ") + kPositions[kind], "2 layers", 4 * scale * size, worst,
        "of a tensor's largest", 5e-5);
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (count > 1) scale = static_cast<size_t>(std::max(1, std::atoi(arguments[1])));
  measureFunctions();
  measureSoftmax();
  measureNorms();
  measureProducts();
  measureGradients();
  return failed ? 1 : 0;
}
