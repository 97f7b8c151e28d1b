// Dot products of a few rows with keys in panels. Every sum starts at 0 and runs over l in order: the bits of
// tile() (kernels/tile.h).
#pragma once

#include <cstddef>

#include "kernels/tile.h"

namespace ropewalk {

// c[r][p kTileColumns + i] = sum_l a[l][r] b[p][l][i] for n panels b [n][k][kTileColumns] and up to kTileRows
// rows a, packed [k][rows].
void dotsOfPanels(size_t rows, float* c, size_t c_stride, const float* a, const float* b, size_t n, size_t k);

}  // namespace ropewalk
