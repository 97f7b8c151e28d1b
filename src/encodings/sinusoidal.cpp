#include "encodings/sinusoidal.h"

#include <algorithm>
#include <cmath>

#include "angles/inverse_frequencies.h"
#include "angles/phase.h"
#include "angles/sin_cos_rows.h"
#include "memory.h"

namespace ropewalk {

Status sinusoidal(const SinusoidalOptions& options, const int64_t* positions, size_t rows, float* out) {
  const size_t dim = options.dim;
  const bool tensor2tensor = options.layout == SinusoidLayout::kTensor2Tensor;
  if (dim == 0 || (tensor2tensor && dim < 4)) return Status::kInvalidShape;
  if (!std::isfinite(options.scale)) return Status::kInvalidArgument;
  if (!std::all_of(positions, positions + rows, isPosition)) return Status::kPositionOutOfRange;

  const size_t sines = tensor2tensor ? dim / 2 : (dim + 1) / 2;
  const size_t cosines = dim / 2;
  Buffer<Real> radians;
  Buffer<Turns> turns;
  if (radians.allocate(sines) != Status::kOk || turns.allocate(sines) != Status::kOk)
    return Status::kOutOfMemory;
  const auto divisor = static_cast<double>(tensor2tensor ? 2 * sines - 2 : dim);
  const Status status = geometricFrequencies(options.base, divisor, sines, radians.data());
  if (status != Status::kOk) return status;
  std::transform(radians.data(), radians.data() + sines, turns.data(), turnsFromRadians);

  SinCosRows pairs;
  pairs.create(turns.data(), cosines);
  pairs.expect(rows);
  const bool interleaved = options.layout == SinusoidLayout::kInterleaved;
  for (size_t r = 0; r < rows; ++r) {
    float* row = out + r * dim;
    if (interleaved) {
      pairs.fill(positions[r], options.scale, InterleavedSinCos{row});
    } else {
      pairs.fill(positions[r], options.scale, SeparateSinCos{row, row + sines});
    }
    if (sines > cosines) {  // the last one, without a cosine
      const double s = sinCos(phaseAt(turns[cosines], positions[r])).sin;
      row[interleaved ? dim - 1 : cosines] = static_cast<float>(s * options.scale);
    }
    if (tensor2tensor && dim % 2 != 0) row[dim - 1] = 0;
  }
  return Status::kOk;
}

}  // namespace ropewalk
