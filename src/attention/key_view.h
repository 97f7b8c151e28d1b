// Keys and values as attention reads them: rows that lie anywhere, or keys in panels, in which kTileColumns
// tokens lie side by side, [panels][D][kTileColumns], as a product with them goes through them
// (kernels/tile.h); as float32, or in the format in which a cache stores them.
#pragma once

#include <cstddef>

#include "kernels/weight_type.h"
#include "tensor_view.h"

namespace ropewalk {

// [B, H, T, D]
struct StoredView : HeadView<const float> {
  WeightType type = WeightType::kFloat32;
  // In place of data, where the format is another one; the strides are in bytes then.
  const unsigned char* stored = nullptr;

  StoredView() = default;
  // A view of float32 rows is one of stored rows as well.
  StoredView(const HeadView<const float>& rows) : HeadView(rows) {}
  // Rows of that many bytes in a format; shape: [B, H, T, D], its strides counted in rows.
  StoredView(const HeadView<const float>& shape, WeightType format, const unsigned char* bytes,
             size_t row_bytes)
      : HeadView(shape), type(format) {
    const bool in_floats = format == WeightType::kFloat32;
    const size_t row = in_floats ? row_bytes / sizeof(float) : row_bytes;
    batch_stride *= row;
    head_stride *= row;
    token_stride *= row;
    if (in_floats) {
      data = reinterpret_cast<const float*>(bytes);
    } else {
      stored = bytes;
    }
  }

  const unsigned char* storedRow(size_t b, size_t h, size_t t) const {
    return stored + b * batch_stride + h * head_stride + t * token_stride;
  }
};

// [B, G, Tk, D]
struct KeyView : StoredView {
  bool in_panels = false;
  size_t lane = 0;  // of key 0 in its panel

  KeyView() = default;
  KeyView(const HeadView<const float>& rows) : StoredView(rows) {}
  // The panel of key 0; panels follow each other, so that rows are as far apart as if they lay one by one.
  // The numbers of a key are as far apart as panels are wide.
  KeyView(const StoredView& panels, size_t lane_of_first)
      : StoredView(panels), in_panels(true), lane(lane_of_first) {}
};

}  // namespace ropewalk
