#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

constexpr bool standsByNumber() {
  for (size_t i = 0; i < kWeightFormats.size(); ++i) {
    if (static_cast<size_t>(kWeightFormats[i].type) != i) return false;
  }
  return true;
}
static_assert(standsByNumber());

}  // namespace

void widen(WeightType type, const void* values, size_t n, float* out) {
  withFormat(type, [&](auto format) { format.widen(static_cast<const unsigned char*>(values), n, out); });
}

}  // namespace ropewalk
