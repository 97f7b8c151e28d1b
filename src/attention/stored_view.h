// Keys and values as attention reads them: rows that lie anywhere, or those of a cache, in pages. Keys in
// pages lie in panels, in which kTileColumns tokens lie side by side, [panels][D][kTileColumns], as a product
// with them goes through them (kernels/tile.h).
#pragma once

#include <cstddef>

#include "attention/pages.h"
#include "kernels/weight_type.h"
#include "tensor_view.h"

namespace ropewalk {

// [B, H, T, D]
struct StoredView : HeadView<const float> {
  // In place of data and strides, where rows lie in pages: row 0 of each head in slot `first`, in a format.
  const Pages* pages = nullptr;
  size_t first = 0;
  WeightType type = WeightType::kFloat32;

  StoredView() = default;
  // A view of float32 rows is one of stored rows as well.
  StoredView(const HeadView<const float>& rows) : HeadView(rows) {}
  StoredView(const HeadView<const float>& shape, WeightType format, const Pages* in, size_t slot)
      : HeadView(shape), pages(in), first(slot), type(format) {}
};

}  // namespace ropewalk
