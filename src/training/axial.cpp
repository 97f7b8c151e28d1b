#include "training/axial.h"

#include <algorithm>

#include "training/lanes.h"

namespace ropewalk::training {

template <class T>
void axialPositions(T* out, AxialTables<const T> tables, const AxialShape& shape) {
  const size_t dim = shape.dim;
  for (size_t t = 0; t < shape.tokens; ++t) {
    std::copy_n(tables.rows + t / shape.columns * dim, dim, out + t * dim);
    addScaled(out + t * dim, T{1}, tables.columns + t % shape.columns * dim, dim);
  }
}

template <class T>
void axialBackward(AxialTables<T> gradients, const T* dpositions, const AxialShape& shape) {
  const size_t dim = shape.dim;
  for (size_t t = 0; t < shape.tokens; ++t) {
    addScaled(gradients.rows + t / shape.columns * dim, T{1}, dpositions + t * dim, dim);
    addScaled(gradients.columns + t % shape.columns * dim, T{1}, dpositions + t * dim, dim);
  }
}

template void axialPositions(float*, AxialTables<const float>, const AxialShape&);
template void axialPositions(double*, AxialTables<const double>, const AxialShape&);
template void axialBackward(AxialTables<float>, const float*, const AxialShape&);
template void axialBackward(AxialTables<double>, const double*, const AxialShape&);

}  // namespace ropewalk::training
