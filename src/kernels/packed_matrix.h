// A weight matrix w [n, k] (outputs, inputs) in the order in which a product reads it, at the size per weight
// that the caller chooses.
//   int8: a row has the scale s = max |w| / 127 (2^-126 at least) and keeps round(w / s); what a product and
//   row() see is the float32 number q s, within s / 2 of w. The error of an output is then at most
//   s / 2 sum |a|, and about s / sqrt(12) |a| (Euclidean) for weights that have nothing to do with a.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

enum class WeightLayout : int {
  kOutIn = 0,  // [n, k], as torch.nn.Linear has it
  kInOut = 1   // [k, n], as GPT-2's Conv1D and ONNX MatMul have it
};

class PackedMatrix {
 public:
  // Rows of w that lie together: [ceil(n / kPanel)][k][kPanel], the last panel filled up with zeros.
  static constexpr size_t kPanel = 16;

  // Room for w, all zeros. Leaves the matrix as it was unless it answers kOk.
  Status allocate(size_t n, size_t k, WeightType stored);

  // Rows first ... first + count - 1 from w [count, k], numbers of type `from` at any address. A type is kept
  // exactly in itself and in a wider one, and rounded to nearest, ties to even, in a narrower one.
  // kInvalidShape: rows that the matrix does not have. kInvalidArgument: `from` is kInt8, whose scales have
  // no place here; or a finite weight would become infinite, or one that is not finite an int8. The matrix is
  // then as it was.
  Status packRows(size_t first, size_t count, WeightType from, const void* w);

  // allocate and packRows in one, for w in either layout.
  Status pack(WeightType from, const void* w, size_t n, size_t k, WeightType stored,
              WeightLayout layout = WeightLayout::kOutIn);

  // Row r as the product sees it: out [k].
  void row(size_t r, float* out) const;

  size_t rows() const { return n_; }     // n, outputs
  size_t columns() const { return k_; }  // k, inputs
  size_t panels() const { return (n_ + kPanel - 1) / kPanel; }
  WeightType type() const { return type_; }
  // kFloat16: whether no weight is, or has been, infinite or NaN, which makes the others quicker to read.
  bool finite() const { return finite_; }
  size_t bytes() const { return data_.size() + scales_.size() * sizeof(float); }

  // Panel p from input l on, as stored: [k - l][kPanel] float, uint16_t or int8_t.
  template <class T>
  const T* panel(size_t p, size_t l) const {
    return reinterpret_cast<const T*>(data_.data()) + (p * k_ + l) * kPanel;
  }
  // kInt8 only: the scales of panel p's rows.
  const float* scales(size_t p) const { return scales_.data() + p * kPanel; }

 private:
  struct Source;

  bool fits(const Source& source, size_t count) const;
  void fill(size_t first, size_t count, const Source& source);
  template <class T>
  void scatter(size_t row, size_t l, size_t count, const float* values);

  Buffer<unsigned char> data_;
  Buffer<float> scales_;
  size_t n_ = 0;
  size_t k_ = 0;
  WeightType type_ = WeightType::kFloat32;
  bool finite_ = true;
};

}  // namespace ropewalk
