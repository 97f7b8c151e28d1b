#include "training/head_tables.h"

#include "training/lanes.h"
#include "training/products.h"

namespace ropewalk::training {

template <class T>
void headTables(T* out, const T* vectors, const T* w, const HeadTableShape& shape) {
  const size_t d = shape.width();
  for (size_t h = 0; h < shape.heads; ++h) {
    product<T>(out + h * shape.size(), shape.dim, {vectors, d}, {w + h * shape.dim * d, d, true},
               shape.distances, shape.dim, d, false);
  }
}

template <class T>
void headTablesBackward(T* dw, T* dvectors, const T* dout, const T* vectors, const T* w,
                        const HeadTableShape& shape) {
  const size_t d = shape.width();
  for (size_t h = 0; h < shape.heads; ++h) {
    product<T>(dw + h * shape.dim * d, d, {dout + h * shape.size(), shape.dim, true}, {vectors, d}, shape.dim,
               d, shape.distances, true);
    if (dvectors == nullptr) continue;
    product<T>(dvectors, d, {dout + h * shape.size(), shape.dim}, {w + h * shape.dim * d, d}, shape.distances,
               d, shape.dim, true);
  }
}

template <class T>
void tableBias(T* out, const T* tables, QueryBiases<const T> biases, T scale, const HeadTableShape& shape) {
  for (size_t h = 0; h < shape.heads; ++h) {
    for (size_t p = 0; p < shape.distances; ++p) {
      const T* const row = tables + (h * shape.distances + p) * shape.dim;
      const size_t at = h * shape.dim;
      out[h * shape.distances + p] =
          scale * (dot(biases.position + at, row, shape.dim) - dot(biases.content + at, row, shape.dim));
    }
  }
}

template <class T>
void tableBiasBackward(QueryBiases<T> gradients, T* dtables, const T* dbias, const T* tables,
                       QueryBiases<const T> biases, T scale, const HeadTableShape& shape) {
  for (size_t h = 0; h < shape.heads; ++h) {
    for (size_t p = 0; p < shape.distances; ++p) {
      const T g = scale * dbias[h * shape.distances + p];
      const size_t of_row = (h * shape.distances + p) * shape.dim;
      const size_t at = h * shape.dim;
      addScaled(gradients.position + at, g, tables + of_row, shape.dim);
      addScaled(gradients.content + at, -g, tables + of_row, shape.dim);
      addScaled(dtables + of_row, g, biases.position + at, shape.dim);
      addScaled(dtables + of_row, -g, biases.content + at, shape.dim);
    }
  }
}

template void headTables(float*, const float*, const float*, const HeadTableShape&);
template void headTables(double*, const double*, const double*, const HeadTableShape&);
template void headTablesBackward(float*, float*, const float*, const float*, const float*,
                                 const HeadTableShape&);
template void headTablesBackward(double*, double*, const double*, const double*, const double*,
                                 const HeadTableShape&);
template void tableBias(float*, const float*, QueryBiases<const float>, float, const HeadTableShape&);
template void tableBias(double*, const double*, QueryBiases<const double>, double, const HeadTableShape&);
template void tableBiasBackward(QueryBiases<float>, float*, const float*, const float*,
                                QueryBiases<const float>, float, const HeadTableShape&);
template void tableBiasBackward(QueryBiases<double>, double*, const double*, const double*,
                                QueryBiases<const double>, double, const HeadTableShape&);

}  // namespace ropewalk::training
