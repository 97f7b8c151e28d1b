#include "analysis/sinusoid_algebra.h"

#include <algorithm>
#include <cmath>

#include "angles/inverse_frequencies.h"
#include "angles/phase.h"
#include "memory.h"

namespace ropewalk {
namespace {

Status frequencies(size_t dim, double base, Buffer<Turns>* turns) {
  if (dim == 0 || dim % 2 != 0) return Status::kInvalidShape;
  Buffer<Real> radians;
  if (radians.allocate(dim / 2) != Status::kOk || turns->allocate(dim / 2) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  const Status status = geometricFrequencies(base, static_cast<double>(dim), dim / 2, radians.data());
  std::transform(radians.data(), radians.data() + (status == Status::kOk ? dim / 2 : 0), turns->data(),
                 turnsFromRadians);
  return status;
}

// sum_j |S_j| at one distance.
double partialSums(const Buffer<Turns>& turns, int64_t distance) {
  double total = 0;
  double real = 0;
  double imaginary = 0;
  for (size_t i = 0; i < turns.size(); ++i) {
    const SinCos angle = sinCos(phaseAt(turns[i], distance));
    real += angle.cos;
    imaginary += angle.sin;
    total += std::sqrt(real * real + imaginary * imaginary);
  }
  return total;
}

}  // namespace

Status shiftMatrix(size_t dim, double base, SinusoidLayout layout, int64_t k, float* out) {
  if (layout != SinusoidLayout::kInterleaved && layout != SinusoidLayout::kConcatenated) {
    return Status::kInvalidArgument;
  }
  if (!isPosition(k)) return Status::kPositionOutOfRange;
  Buffer<Turns> turns;
  const Status status = frequencies(dim, base, &turns);
  if (status != Status::kOk) return status;
  std::fill_n(out, dim * dim, 0.0f);
  for (size_t i = 0; i < dim / 2; ++i) {
    const bool interleaved = layout == SinusoidLayout::kInterleaved;
    const size_t sine = interleaved ? 2 * i : i;
    const size_t cosine = interleaved ? 2 * i + 1 : dim / 2 + i;
    const SinCos angle = sinCos(phaseAt(turns[i], k));
    out[sine * dim + sine] = out[cosine * dim + cosine] = static_cast<float>(angle.cos);
    out[sine * dim + cosine] = static_cast<float>(angle.sin);
    out[cosine * dim + sine] = static_cast<float>(-angle.sin);
  }
  return Status::kOk;
}

Status dotCurve(size_t dim, double base, const int64_t* distances, size_t n, double* out) {
  if (!std::all_of(distances, distances + n, isPosition)) return Status::kPositionOutOfRange;
  Buffer<Turns> turns;
  const Status status = frequencies(dim, base, &turns);
  if (status != Status::kOk) return status;
  for (size_t d = 0; d < n; ++d) {
    out[d] = 0;
    for (size_t i = 0; i < turns.size(); ++i) out[d] += sinCos(phaseAt(turns[i], distances[d])).cos;
  }
  return Status::kOk;
}

Status decayCurve(size_t dim, double base, const int64_t* distances, size_t n, double* out) {
  if (!std::all_of(distances, distances + n, isPosition)) return Status::kPositionOutOfRange;
  Buffer<Turns> turns;
  const Status status = frequencies(dim, base, &turns);
  if (status != Status::kOk) return status;
  for (size_t d = 0; d < n; ++d)
    out[d] = partialSums(turns, distances[d]) / static_cast<double>(turns.size());
  return Status::kOk;
}

Status decayBound(size_t dim, double base, const double* h, const int64_t* distances, size_t n, double* out) {
  if (!std::all_of(distances, distances + n, isPosition)) return Status::kPositionOutOfRange;
  Buffer<Turns> turns;
  const Status status = frequencies(dim, base, &turns);
  if (status != Status::kOk) return status;
  double step = 0;
  for (size_t i = 0; i < turns.size(); ++i) {
    const bool last = i + 1 == turns.size();
    const double real = (last ? 0 : h[2 * i + 2]) - h[2 * i];
    const double imaginary = (last ? 0 : h[2 * i + 3]) - h[2 * i + 1];
    const double size = std::sqrt(real * real + imaginary * imaginary);
    if (!std::isnan(step) && !(size <= step)) step = size;  // NaN stays
  }
  for (size_t d = 0; d < n; ++d) out[d] = step * partialSums(turns, distances[d]);
  return Status::kOk;
}

}  // namespace ropewalk
