// Which row of 2 span belongs to a distance of DeBERTa (He et al., arXiv:2006.03654), as the models' code has
// it: i - j + span, at least 0 and at most 2 span - 1. With `most`, that of versions 2 and 3: distances
// beyond m = span / 2 become ceil(ln(|i - j| / m) / ln((most - 1) / m) (m - 1)) + m first, with their sign.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encodings/relative.h"
#include "memory.h"
#include "status.h"

namespace ropewalk::training {

// span >= 1; most: 0, or at least m + 2 where m >= 1. `room` is where the rows are kept. Distances of
// sequences of at most kMostTokens have their rows.
Status disentangledRows(size_t span, int64_t most, Buffer<int32_t>* room, RelativeRows* rows);

}  // namespace ropewalk::training
