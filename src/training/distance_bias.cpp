#include "training/distance_bias.h"

#include <cmath>

#include "training/fire_bias.h"

namespace ropewalk::training {
namespace {

// f(head, |distance|, place in the table of T5, place in [H, distances])
template <class F>
void eachDistance(const BiasShape& shape, F f) {
  const size_t count = shape.distances.count();
  for (size_t p = 0; p < count; ++p) {
    const int64_t distance = shape.distances.at(p);
    const size_t row = shape.kind == BiasKind::kT5 ? shape.buckets->bucket(distance) * shape.heads : 0;
    for (size_t h = 0; h < shape.heads; ++h)
      f(h, static_cast<double>(distance < 0 ? -distance : distance), row + h, h * count + p);
  }
}

template <class T>
FireTables fireTables(const BiasShape& shape, BiasParts<const T> parts) {
  const FireTables tables(shape.room, shape);
  tables.prepare(parts.first, shape.threshold);
  return tables;
}

template <class T>
void fireGradients(T* gradients, const T* dbias, const BiasShape& shape, BiasParts<const T> parts) {
  const FireTables tables = fireTables(shape, parts);
  fireBiasBackward(tables, dbias, {allQueries(shape.distances), 0, shape.heads});
  tables.addGradients(gradients, parts.first);
}

}  // namespace

template <class T>
void distanceBias(T* out, const BiasShape& shape, BiasParts<const T> parts) {
  switch (shape.kind) {
    case BiasKind::kAlibi:
      return eachDistance(shape, [&](size_t h, double distance, size_t, size_t at) {
        out[at] = -parts.first[h] * static_cast<T>(distance);
      });
    case BiasKind::kT5:
      return eachDistance(shape,
                          [&](size_t, double, size_t entry, size_t at) { out[at] = parts.first[entry]; });
    case BiasKind::kKerple:
      return eachDistance(shape, [&](size_t h, double distance, size_t, size_t at) {
        out[at] = -parts.first[h] * std::log1p(parts.second[h] * static_cast<T>(distance));
      });
    case BiasKind::kFire:
      return fireBias(out, fireTables(shape, parts), {allQueries(shape.distances), 0, shape.heads});
    case BiasKind::kSandwich:
      return eachDistance(shape, [&](size_t h, double distance, size_t, size_t at) {
        const double ratio = 8 * static_cast<double>(h + 1) / static_cast<double>(shape.heads);
        out[at] = static_cast<T>(shape.sums[static_cast<size_t>(distance)] / ratio);
      });
  }
}

template <class T>
void distanceBiasBackward(BiasParts<T> gradients, const T* dbias, const BiasShape& shape,
                          BiasParts<const T> parts) {
  switch (shape.kind) {
    case BiasKind::kAlibi:
      return eachDistance(shape, [&](size_t h, double distance, size_t, size_t at) {
        gradients.first[h] -= dbias[at] * static_cast<T>(distance);
      });
    case BiasKind::kT5:
      return eachDistance(
          shape, [&](size_t, double, size_t entry, size_t at) { gradients.first[entry] += dbias[at]; });
    case BiasKind::kKerple:
      return eachDistance(shape, [&](size_t h, double distance, size_t, size_t at) {
        const T d = static_cast<T>(distance);
        gradients.first[h] -= dbias[at] * std::log1p(parts.second[h] * d);
        gradients.second[h] -= dbias[at] * parts.first[h] * d / (1 + parts.second[h] * d);
      });
    case BiasKind::kFire:
      return fireGradients(gradients.first, dbias, shape, parts);
    case BiasKind::kSandwich:  // learns nothing
      return;
  }
}

template void distanceBias(float*, const BiasShape&, BiasParts<const float>);
template void distanceBias(double*, const BiasShape&, BiasParts<const double>);
template void distanceBiasBackward(BiasParts<float>, const float*, const BiasShape&, BiasParts<const float>);
template void distanceBiasBackward(BiasParts<double>, const double*, const BiasShape&,
                                   BiasParts<const double>);

}  // namespace ropewalk::training
