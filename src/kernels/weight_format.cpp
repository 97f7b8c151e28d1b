#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

consteval bool isInOrder() {
  for (size_t i = 0; i < kWeightFormats.size(); ++i) {
    if (static_cast<size_t>(kWeightFormats[i].type) != i || kGemmDepth % kWeightFormats[i].block != 0)
      return false;
  }
  return true;
}
static_assert(isInOrder());

template <class Format>
consteval WeightMethods methodsOfFormat() {
  WeightMethods methods = {Format::widen, Format::narrow, Format::pack, Format::finite, nullptr, nullptr};
  if constexpr (Format::kRowScales) methods.scaleFor = Format::scaleFor;
  if constexpr (Format::kCodes.scale_inputs != 0) methods.unpack = Format::unpack;
  return methods;
}

template <class... Formats>
consteval std::array<WeightMethods, sizeof...(Formats)> methodsOfAll(FormatList<Formats...>) {
  return {{methodsOfFormat<Formats>()...}};
}

constexpr auto kMethods = methodsOfAll(WeightFormats());

}  // namespace

const WeightMethods& methodsOf(WeightType type) {
  return kMethods[static_cast<size_t>(type)];
}

void widen(WeightType type, const void* values, size_t n, float* out) {
  methodsOf(type).widen(static_cast<const unsigned char*>(values), n, out);
}

}  // namespace ropewalk
