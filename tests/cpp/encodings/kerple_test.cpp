#include "encodings/kerple.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

KerpleOptions optionsOf(KerpleKind kind, size_t heads, size_t queries, size_t keys, int64_t offset) {
  KerpleOptions options;
  options.kind = kind;
  options.heads = heads;
  options.queries = queries;
  options.keys = keys;
  options.query_offset = offset;
  return options;
}

TEST_CASE("KERPLE falls with the distance as its formulas say", "[encodings]") {
  const std::vector<float> r1 = {0.5f, 2, 1e-3f};
  const std::vector<float> r2 = {1, 0.25f, 2};
  for (const KerpleKind kind : {KerpleKind::kLogarithmic, KerpleKind::kPower}) {
    for (const int64_t offset : {int64_t{0}, int64_t{-3}, int64_t{100000}}) {
      std::vector<float> out(3 * 4 * 7);
      REQUIRE(kerpleBias(optionsOf(kind, 3, 4, 7, offset), r1.data(), r2.data(), out.data()) == Status::kOk);
      Worst worst;
      for (size_t h = 0; h < 3; ++h) {
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t j = 0; j < 7; ++j) {
            const long double distance = std::fabs(static_cast<long double>(i + offset - j));
            const long double fall = kind == KerpleKind::kPower
                                         ? std::pow(distance, static_cast<long double>(r2[h]))
                                         : std::log(1 + static_cast<long double>(r2[h]) * distance);
            const auto want = static_cast<double>(-static_cast<long double>(r1[h]) * fall);
            const size_t at = (h * 4 + static_cast<size_t>(i)) * 7 + static_cast<size_t>(j);
            worst.add(out[at], want, 1.01 * kUnit * std::fabs(want));
          }
        }
      }
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("KERPLE refuses numbers that make no kernel, and writes nothing", "[encodings]") {
  const auto status = [](KerpleKind kind, float r1, float r2) {
    float out = 7;
    const Status answer = kerpleBias(optionsOf(kind, 1, 1, 1, 0), &r1, &r2, &out);
    CHECK((answer == Status::kOk) == (out != 7));
    return answer;
  };
  CHECK(status(KerpleKind::kPower, 1, 2) == Status::kOk);
  CHECK(status(KerpleKind::kPower, 1, 2.5f) == Status::kInvalidArgument);
  CHECK(status(KerpleKind::kLogarithmic, 1, 2.5f) == Status::kOk);
  for (const float bad : {0.0f, -1.0f, kNaN, kInfinity}) {
    CHECK(status(KerpleKind::kLogarithmic, bad, 1) == Status::kInvalidArgument);
    CHECK(status(KerpleKind::kLogarithmic, 1, bad) == Status::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ropewalk::test
