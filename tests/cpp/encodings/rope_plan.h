// Plans for tests, and their expected tables.
#pragma once

#include <cstdint>
#include <vector>

#include "catch.h"
#include "encodings/rope.h"

namespace ropewalk::test {

inline RopeOptions ropeOptions(size_t head_dim, size_t rotary_dim, Pairing pairing = Pairing::kHalf) {
  RopeOptions options;
  options.head_dim = head_dim;
  options.frequencies.dim = rotary_dim;
  options.pairing = pairing;
  return options;
}

inline RopePlan planOf(const RopeOptions& options) {
  RopePlan plan;
  REQUIRE(plan.create(options) == Status::kOk);
  return plan;
}

struct Tables {
  std::vector<float> cos;  // [positions, pairs]
  std::vector<float> sin;
};

inline Tables tablesOf(const RopePlan& plan, const std::vector<int64_t>& positions) {
  const size_t n = positions.size() * plan.pairs();
  Tables tables = {std::vector<float>(n), std::vector<float>(n)};
  REQUIRE(plan.tables(positions.data(), positions.size(), tables.cos.data(), tables.sin.data()) ==
          Status::kOk);
  return tables;
}

// The position of token t of batch b on an axis.
inline int64_t positionOf(const Positions& p, size_t b, size_t t, size_t batch, size_t tokens,
                          size_t axis = 0) {
  if (p.values == nullptr) return p.offset + static_cast<int64_t>(t);
  return p.per_batch ? p.values[(axis * batch + b) * tokens + t] : p.values[axis * tokens + t];
}

// Where pair j of a row stands.
inline size_t firstOf(Pairing pairing, size_t j) {
  return pairing == Pairing::kHalf ? j : 2 * j;
}
inline size_t secondOf(Pairing pairing, size_t j, size_t pairs) {
  return pairing == Pairing::kHalf ? pairs + j : 2 * j + 1;
}

}  // namespace ropewalk::test
