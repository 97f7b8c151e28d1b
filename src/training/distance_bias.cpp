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

}  // namespace

template <class T>
void distanceBias(T* out, const BiasShape& shape, BiasParts<const T> parts) {
  if (shape.kind == BiasKind::kFire) {
    const FireTables tables(shape.room, shape);
    tables.prepare(parts.first, shape.threshold);
    return fireBias(out, tables, {allQueries(shape.distances), 0, shape.heads});
  }
  eachDistance(shape, [&](size_t h, double distance, size_t entry, size_t at) {
    const T d = static_cast<T>(distance);
    switch (shape.kind) {
      case BiasKind::kAlibi:
        out[at] = -parts.first[h] * d;
        return;
      case BiasKind::kT5:
        out[at] = parts.first[entry];
        return;
      case BiasKind::kKerple:
        out[at] = -parts.first[h] * std::log1p(parts.second[h] * d);
        return;
      case BiasKind::kFire:  // done above
        return;
      case BiasKind::kSandwich: {
        const double ratio = 8 * static_cast<double>(h + 1) / static_cast<double>(shape.heads);
        out[at] = static_cast<T>(shape.sums[static_cast<size_t>(distance)] / ratio);
        return;
      }
    }
  });
}

template <class T>
void distanceBiasBackward(BiasParts<T> gradients, const T* dbias, const BiasShape& shape,
                          BiasParts<const T> parts) {
  if (shape.kind == BiasKind::kFire) {
    const FireTables tables(shape.room, shape);
    tables.prepare(parts.first, shape.threshold);
    fireBiasBackward(tables, dbias, {allQueries(shape.distances), 0, shape.heads});
    return tables.addGradients(gradients.first, parts.first);
  }
  eachDistance(shape, [&](size_t h, double distance, size_t entry, size_t at) {
    const T d = static_cast<T>(distance);
    switch (shape.kind) {
      case BiasKind::kAlibi:
        gradients.first[h] -= dbias[at] * d;
        return;
      case BiasKind::kT5:
        gradients.first[entry] += dbias[at];
        return;
      case BiasKind::kKerple:
        gradients.first[h] -= dbias[at] * std::log1p(parts.second[h] * d);
        gradients.second[h] -= dbias[at] * parts.first[h] * d / (1 + parts.second[h] * d);
        return;
      case BiasKind::kFire:      // done above
      case BiasKind::kSandwich:  // learns nothing
        return;
    }
  });
}

template void distanceBias(float*, const BiasShape&, BiasParts<const float>);
template void distanceBias(double*, const BiasShape&, BiasParts<const double>);
template void distanceBiasBackward(BiasParts<float>, const float*, const BiasShape&, BiasParts<const float>);
template void distanceBiasBackward(BiasParts<double>, const double*, const BiasShape&,
                                   BiasParts<const double>);

}  // namespace ropewalk::training
