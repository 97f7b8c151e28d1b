// Learned positions of a grid (Kitaev et al., arXiv:2001.04451; vision transformers): that of token t is the
// sum of a vector for its row, t / C, and one for its column, t % C.
#pragma once

#include <cstddef>

namespace ropewalk::training {

// Tables [rows, dim] and [columns, dim], or their gradients.
template <class T>
struct AxialTables {
  T* rows = nullptr;
  T* columns = nullptr;
};

struct AxialShape {
  size_t tokens = 0;
  size_t columns = 0;  // C
  size_t dim = 0;
};

// out [tokens, dim].
template <class T>
void axialPositions(T* out, AxialTables<const T> tables, const AxialShape& shape);

// Adds to the gradients of the tables, from those of the positions.
template <class T>
void axialBackward(AxialTables<T> gradients, const T* dpositions, const AxialShape& shape);

}  // namespace ropewalk::training
