// Keys as attention reads them: rows that lie anywhere, or panels, in which kTileColumns tokens lie side by
// side, [panels][D][kTileColumns], as a product with them goes through them (kernels/tile.h).
#pragma once

#include <cstddef>

#include "tensor_view.h"

namespace ropewalk {

// [B, G, Tk, D]
struct KeyView : HeadView<const float> {
  bool in_panels = false;
  size_t lane = 0;  // of key 0 in its panel

  KeyView() = default;
  // A view of rows is one of keys as well.
  KeyView(const HeadView<const float>& rows) : HeadView(rows) {}
  // data: the panel of key 0; panels follow each other, so that the token stride is not used. The numbers of
  // a key are as far apart as panels are wide.
  KeyView(const HeadView<const float>& panels, size_t lane_of_first)
      : HeadView(panels), in_panels(true), lane(lane_of_first) {}
};

}  // namespace ropewalk
