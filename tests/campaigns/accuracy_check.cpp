// accuracy_check POSITIONS PLAN: measures the errors of RopePlan's tables for one plan of
// accuracy_reference.py, at POSITIONS random positions and at the plan's hard ones. Prints kind, number of
// values, max |error|, max error in ulp (of results of at least 2^-40), and where these occurred. The
// reference: position times turns as an exact 320-bit integer, then sinq and cosq of the remainder within an
// eighth of a turn.
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "encodings/rope.h"

namespace {

using Quad = __float128;
using Wide = unsigned __int128;
constexpr int kLimbs = 5;
constexpr int64_t kLargest = (int64_t{1} << 53) - 1;
constexpr double kSmallest = 0x1p-40;

struct Turn {
  uint64_t limb[kLimbs];  // least significant first, in units of 2^-320 turns
};

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "accuracy_check: " << what << '\n';
  std::exit(1);
}

Turn negated(Turn x) {
  uint64_t carry = 1;
  for (uint64_t& limb : x.limb) {
    limb = ~limb + carry;
    carry = carry != 0 && limb == 0 ? 1 : 0;
  }
  return x;
}

Turn multiplied(const Turn& x, int64_t position) {
  const auto by = static_cast<uint64_t>(position < 0 ? -position : position);
  Turn product;
  uint64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const Wide t = Wide{x.limb[i]} * by + carry;
    product.limb[i] = static_cast<uint64_t>(t);
    carry = static_cast<uint64_t>(t >> 64);
  }
  return position < 0 ? negated(product) : product;
}

struct SinCos {
  Quad sin;
  Quad cos;
};

SinCos sinCos(Turn x) {
  // The nearest quarter turn is taken off: the rest, in two's complement, is at most an eighth.
  const uint64_t quadrant = ((x.limb[kLimbs - 1] >> 61) + 1) / 2 % 4;
  x.limb[kLimbs - 1] -= quadrant << 62;
  const bool negative = x.limb[kLimbs - 1] >> 63 != 0;
  if (negative) x = negated(x);
  // Three limbs from the first that counts are 129 bits or more.
  int top = kLimbs - 1;
  while (top > 2 && x.limb[top] == 0) --top;
  Quad rest = x.limb[top];
  for (int i = top - 1; i > top - 3; --i) rest = rest * 0x1p64 + x.limb[i];
  rest *= scalbnq(Quad(2) * M_PIq, 64 * (top - 2) - 64 * kLimbs);
  SinCos angle;
  sincosq(negative ? -rest : rest, &angle.sin, &angle.cos);
  switch (quadrant) {
    case 0:
      return angle;
    case 1:
      return {angle.cos, -angle.sin};
    case 2:
      return {-angle.sin, -angle.cos};
    default:
      return {-angle.cos, angle.sin};
  }
}

// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Half of them of every size alike, half uniform; a quarter negative.
  int64_t position() {
    const uint64_t kind = bits() % 8;
    const double exponent = static_cast<double>(bits() >> 11) * 0x1p-53 * 53;
    const auto p = static_cast<int64_t>(kind < 4 ? static_cast<uint64_t>(std::exp2(exponent)) : bits() >> 11);
    return kind % 4 == 0 ? -std::min(p, kLargest) : std::min(p, kLargest);
  }

 private:
  uint64_t state_;
};

struct Plan {
  std::string kind;
  std::map<std::string, std::vector<double>> options;
  std::vector<Turn> turns;
  std::vector<int64_t> hard;

  double number(const std::string& name, double otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second.at(0);
  }
  const double* list(const std::string& name) const {
    const auto found = options.find(name);
    return found == options.end() ? nullptr : found->second.data();
  }
};

Plan readPlan(const char* path) {
  std::ifstream file(path);
  if (!file) fail(std::string("cannot read ") + path);
  Plan plan;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (std::string word; words >> word;) {
      if (name == "kind") {
        plan.kind = word;
      } else if (name == "hard") {
        plan.hard.push_back(std::strtoll(word.c_str(), nullptr, 10));
      } else if (name == "turns") {
        Turn turn;
        for (int i = 0; i < kLimbs; ++i)
          turn.limb[kLimbs - 1 - i] =
              std::strtoull(word.substr(static_cast<size_t>(16 * i), 16).c_str(), nullptr, 16);
        plan.turns.push_back(turn);
      } else {
        plan.options[name].push_back(std::strtod(word.c_str(), nullptr));
      }
    }
  }
  return plan;
}

ropewalk::RopePlan made(const Plan& plan, double attention_factor) {
  ropewalk::RopeOptions options;
  ropewalk::FrequencyOptions& f = options.frequencies;
  f.dim = options.head_dim = 2 * plan.turns.size();
  f.scaling = static_cast<ropewalk::Scaling>(static_cast<int>(plan.number("scaling", -1)));
  f.base = plan.number("base", f.base);
  f.factor = plan.number("factor", f.factor);
  f.original_length = plan.number("original_length", 0);
  f.max_length = plan.number("max_length", 0);
  f.sequence_length = plan.number("sequence_length", 0);
  f.attention_factor = attention_factor;
  f.beta_fast = plan.number("beta_fast", f.beta_fast);
  f.beta_slow = plan.number("beta_slow", f.beta_slow);
  f.mscale = plan.number("mscale", 0);
  f.mscale_all_dim = plan.number("mscale_all_dim", 0);
  f.truncate = plan.number("truncate", 1) != 0;
  f.low_freq_factor = plan.number("low_freq_factor", f.low_freq_factor);
  f.high_freq_factor = plan.number("high_freq_factor", f.high_freq_factor);
  f.rotary_fraction = plan.number("rotary_fraction", 1);
  f.short_factors = plan.list("short_factors");
  f.long_factors = plan.list("long_factors");
  f.inverse_frequencies = plan.list("custom");
  ropewalk::RopePlan rope;
  if (rope.create(options) != ropewalk::Status::kOk) fail("a " + plan.kind + " plan is refused");
  return rope;
}

struct Largest {
  double error = 0;
  int64_t position = 0;
  size_t pair = 0;

  void add(double e, int64_t at, size_t of) {
    if (e <= error) return;
    error = e;
    position = at;
    pair = of;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("wants a number of positions and a plan");
  const Plan plan = readPlan(argv[2]);
  const size_t pairs = plan.turns.size();

  const double expected = plan.number("expected_attention", 0);
  const double factor = made(plan, plan.number("attention_factor", 0)).attentionFactor();
  if (std::fabs(factor - expected) > 0x1p-52 * expected) fail(std::string("attention factor of ") + argv[2]);
  const ropewalk::RopePlan rope = made(plan, 1);  // its tables are plain cosines and sines

  std::vector<int64_t> positions = plan.hard;
  positions.insert(positions.end(), {0, 1, -1, kLargest, -kLargest});
  const std::string name = argv[2];
  Random random(std::hash<std::string>()(name.substr(name.find_last_of('/') + 1)));
  for (auto n = std::strtoull(argv[1], nullptr, 10); n > 0; --n) positions.push_back(random.position());

  std::vector<float> cos(pairs);
  std::vector<float> sin(pairs);
  Largest absolute;
  Largest ulps;
  for (const int64_t p : positions) {
    if (rope.tables(&p, 1, cos.data(), sin.data()) != ropewalk::Status::kOk) fail("a position is refused");
    for (size_t j = 0; j < pairs; ++j) {
      const SinCos truth = sinCos(multiplied(plan.turns[j], p));
      const auto check = [&](float actual, Quad exact) {
        const double size = std::fabs(static_cast<double>(exact));
        double error = std::fabs(static_cast<double>(actual - exact));
        if (std::isnan(actual)) error = HUGE_VAL;
        absolute.add(error, p, j);
        if (size == 0 && error != 0) fail("a zero is not one");
        if (size >= kSmallest) ulps.add(std::ldexp(error, 23 - std::ilogb(size)), p, j);
      };
      check(cos[j], truth.cos);
      check(sin[j], truth.sin);
    }
  }
  const std::string plan_name = name.substr(name.find_last_of('/') + 1);
  std::ostringstream line;
  line.precision(9);
  line << plan.kind << ' ' << 2 * pairs * positions.size() << ' ' << absolute.error << ' ' << ulps.error
       << ' ' << plan_name << ":p=" << absolute.position << ":pair=" << absolute.pair << ' ' << plan_name
       << ":p=" << ulps.position << ":pair=" << ulps.pair << '\n';
  std::cout << line.str() << std::flush;
}
