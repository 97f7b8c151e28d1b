#include "encodings/rope_layout.h"

#include <algorithm>

namespace ropewalk {
namespace {

// Frequencies of a block of dim coordinates, from index first on.
Status fillFrequencies(FrequencyOptions options, size_t dim, size_t first, RopeLayout* layout) {
  options.dim = dim;
  const Status status =
      inverseFrequencies(options, layout->frequencies.data() + first, &layout->attention_factor);
  if (status != Status::kOk || layout->frequencies32.size() == 0) return status;
  return inverseFrequencies32(options, layout->frequencies32.data() + first);
}

// A scaling that looks at the whole range of frequencies, or brings a list of its own, has no meaning for
// parts.
bool fitsParts(const FrequencyOptions& o) {
  return o.scaling == Scaling::kDefault || o.scaling == Scaling::kLinear || o.scaling == Scaling::kNtk;
}

void singleRun(size_t pairs, RopeLayout* layout) {
  layout->runs[0] = {0, 0, pairs};
  layout->run_count = 1;
}

Status single(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  if (axes.axes != 1) return Status::kInvalidShape;
  singleRun(o.dim / 2, layout);
  return fillFrequencies(o, o.dim, 0, layout);
}

Status axial(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  if (!fitsParts(o)) return Status::kInvalidArgument;
  size_t start = 0;
  for (size_t a = 0; a < axes.axes; ++a) {
    const size_t dim = axes.sizes[a];
    if (dim == 0 || dim % 2 != 0 || dim > o.dim - start) return Status::kInvalidShape;
    const Status status = fillFrequencies(o, dim, start / 2, layout);
    if (status != Status::kOk) return status;
    std::fill_n(layout->axis.data() + start / 2, dim / 2, static_cast<uint8_t>(a));
    layout->runs[a] = {start, start / 2, dim / 2};
    start += dim;
  }
  layout->run_count = axes.axes;
  return start == o.dim ? Status::kOk : Status::kInvalidShape;
}

bool sectionsAddUp(const FrequencyOptions& o, const AxisOptions& axes) {
  size_t rest = o.dim / 2;
  for (size_t a = 0; a < axes.axes; ++a) {
    if (axes.sizes[a] > rest) return false;
    rest -= axes.sizes[a];
  }
  return rest == 0;
}

Status sections(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  if (!sectionsAddUp(o, axes)) return Status::kInvalidShape;
  uint8_t* next = layout->axis.data();
  for (size_t a = 0; a < axes.axes; ++a) next = std::fill_n(next, axes.sizes[a], static_cast<uint8_t>(a));
  singleRun(o.dim / 2, layout);
  return fillFrequencies(o, o.dim, 0, layout);
}

Status interleaved(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  if (axes.axes != 3 || !sectionsAddUp(o, axes)) return Status::kInvalidShape;
  for (size_t j = 0; j < o.dim / 2; ++j) {
    const size_t a = j % 3;
    if (a != 0 && j < 3 * axes.sizes[a]) layout->axis[j] = static_cast<uint8_t>(a);
  }
  singleRun(o.dim / 2, layout);
  return fillFrequencies(o, o.dim, 0, layout);
}

Status rowsThenColumns(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  if (axes.axes != 2 || o.dim % 4 != 0) return Status::kInvalidShape;
  if (!fitsParts(o)) return Status::kInvalidArgument;
  std::fill_n(layout->axis.data() + o.dim / 4, o.dim / 4, uint8_t{1});
  singleRun(o.dim / 2, layout);
  return Status::kOk;
}

Status vision(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  Status status = rowsThenColumns(o, axes, layout);
  if (status == Status::kOk) status = fillFrequencies(o, o.dim / 2, 0, layout);
  if (status == Status::kOk) status = fillFrequencies(o, o.dim / 2, o.dim / 4, layout);
  return status;
}

// values[0], values[2], ... to the front, the others behind them.
template <class T>
Status evensFirst(T* values, size_t n) {
  Buffer<T> all;
  if (all.allocate(n) != Status::kOk) return Status::kOutOfMemory;
  std::copy_n(values, n, all.data());
  for (size_t i = 0; i < n; ++i) values[i % 2 == 0 ? i / 2 : n / 2 + i / 2] = all[i];
  return Status::kOk;
}

Status pixtral(const FrequencyOptions& o, const AxisOptions& axes, RopeLayout* layout) {
  Status status = rowsThenColumns(o, axes, layout);
  if (status == Status::kOk) status = fillFrequencies(o, o.dim, 0, layout);
  if (status == Status::kOk) status = evensFirst(layout->frequencies.data(), o.dim / 2);
  const size_t pairs32 = layout->frequencies32.size();
  if (status == Status::kOk && pairs32 != 0) status = evensFirst(layout->frequencies32.data(), pairs32);
  return status;
}

// Indexed by AxisLayout.
constexpr Status (*kLayouts[])(const FrequencyOptions&, const AxisOptions&, RopeLayout*) = {
    single, axial, sections, interleaved, vision, pixtral};

}  // namespace

Status layOutRope(const FrequencyOptions& options, const AxisOptions& axes, Angles angles,
                  RopeLayout* layout) {
  const size_t pairs = options.dim / 2;
  if (options.dim == 0 || options.dim % 2 != 0 || axes.axes == 0 || axes.axes > kMaxAxes) {
    return Status::kInvalidShape;
  }
  const auto kind = static_cast<size_t>(axes.layout);
  if (kind >= sizeof(kLayouts) / sizeof(kLayouts[0])) return Status::kInvalidArgument;
  const size_t pairs32 = angles == Angles::kFloat32 ? pairs : 0;
  if (layout->frequencies.allocate(pairs) != Status::kOk ||
      layout->frequencies32.allocate(pairs32) != Status::kOk || layout->axis.allocate(pairs) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  std::fill_n(layout->axis.data(), pairs, uint8_t{0});
  layout->axes = axes.axes;
  return kLayouts[kind](options, axes, layout);
}

}  // namespace ropewalk
