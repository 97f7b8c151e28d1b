// Rows of a table by number: token vectors. out_i = scale table[ids_i].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"
#include "status.h"

namespace ropewalk {

// table [rows, dim] of a format without scales of rows, ids [n] -> out [n, dim]; scale is Gemma's sqrt(dim),
// 1 elsewhere and then exact. kPositionOutOfRange, and nothing written: an id below 0, or of rows or more.
Status embed(float* out, WeightType type, const void* table, size_t rows, size_t dim, const int64_t* ids,
             size_t n, float scale);

// The same of a packed table, whose rows are widened as the product reads them. With accumulate they are
// added to what out holds. kOutOfMemory is for accumulate alone, which needs room for a row.
Status embed(float* out, const PackedMatrix& table, const int64_t* ids, size_t n, float scale,
             bool accumulate = false);

}  // namespace ropewalk
