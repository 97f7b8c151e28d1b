#include "encodings/sandwich.h"

#include <algorithm>

#include "angles/inverse_frequencies.h"
#include "angles/phase.h"
#include "memory.h"

namespace ropewalk {

Status sandwichBias(const SandwichOptions& options, float* out) {
  const auto [heads, dim, base, queries, keys, offset] = options;
  if (dim == 0 || dim % 2 != 0) return Status::kInvalidShape;
  Buffer<Real> radians;
  Buffer<Turns> turns;
  Buffer<double> sums;  // by distance, from the last query and the first key on
  if (radians.allocate(dim / 2) != Status::kOk || turns.allocate(dim / 2) != Status::kOk ||
      sums.allocate(queries + keys) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  const Status status = geometricFrequencies(base, static_cast<double>(dim), dim / 2, radians.data());
  if (status != Status::kOk || queries == 0 || keys == 0) return status;
  std::transform(radians.data(), radians.data() + dim / 2, turns.data(), turnsFromRadians);
  for (size_t n = 0; n < queries + keys - 1; ++n) {
    const int64_t distance = static_cast<int64_t>(n) - static_cast<int64_t>(queries - 1) - offset;
    sums[n] = 0;
    for (size_t k = 0; k < dim / 2; ++k) sums[n] += sinCos(phaseAt(turns[k], distance)).cos;
  }
  for (size_t h = 0; h < heads; ++h) {
    const double ratio = 8 * static_cast<double>(h + 1) / static_cast<double>(heads);
    for (size_t i = 0; i < queries; ++i) {
      for (size_t j = 0; j < keys; ++j) *out++ = static_cast<float>(sums[queries - 1 - i + j] / ratio);
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
