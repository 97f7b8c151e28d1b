// Bindings of measures of encodings: shift matrices, dot product and decay curves, comparisons of rows.
#include <emscripten/bind.h>

#include "analysis/pairwise.h"
#include "analysis/sinusoid_algebra.h"
#include "calls.h"

namespace ropewalk::binding {
namespace {

int shiftMatrixAt(size_t dim, double base, int layout, double k, Pointer out) {
  return number(
      shiftMatrix(dim, base, static_cast<SinusoidLayout>(layout), static_cast<int64_t>(k), at<float>(out)));
}
int dotCurveAt(size_t dim, double base, Pointer distances, size_t n, Pointer out) {
  return number(dotCurve(dim, base, integers(distances, n), n, at<double>(out)));
}
int decayCurveAt(size_t dim, double base, Pointer distances, size_t n, Pointer out) {
  return number(decayCurve(dim, base, integers(distances, n), n, at<double>(out)));
}
int decayBoundOf(Pointer fields) {
  const auto c = readCall<DecayBoundCall>(fields);
  return number(decayBound(c.dim, c.base, at<double>(c.products), integers(c.distances, c.count), c.count,
                           at<double>(c.out)));
}
int pairwiseAt(int measure, Pointer x, size_t rows, size_t dim, Pointer out) {
  return number(pairwise(static_cast<Measure>(measure), at<float>(x), rows, dim, at<float>(out)));
}
// Answers false if all rows differ.
bool firstDuplicateAt(Pointer x, size_t rows, size_t dim, Pointer out) {
  RowPair rows_alike{};
  const bool found = firstDuplicate(at<float>(x), rows, dim, &rows_alike.first, &rows_alike.second);
  writeResult(out, rows_alike);
  return found;
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(analysis) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  function("shiftMatrix", &shiftMatrixAt);
  function("dotCurve", &dotCurveAt);
  function("decayCurve", &decayCurveAt);
  function("decayBound", &decayBoundOf);
  function("pairwise", &pairwiseAt);
  function("firstDuplicate", &firstDuplicateAt);
}
