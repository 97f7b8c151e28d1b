// A weight matrix w [n, k] (outputs, inputs) in the order in which a product reads it, in the format that the
// caller chooses.
#pragma once

#include <cstddef>

#include "kernels/formats/block.h"
#include "kernels/panel.h"
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
  // Room for w, all zeros. Leaves the matrix as it was unless it answers kOk. Products are in integers where
  // the format has codes, unless they are to be in floats; see kernels/code_products.h.
  Status allocate(size_t n, size_t k, WeightType stored, bool in_floats = false);

  // Rows first ... first + count - 1 from w [count, k], rows of format `from` at any address. A format is
  // kept exactly in itself and in a wider one, and rounded to nearest, ties to even, in a narrower one; a
  // format of blocks with scales chooses those first, as its narrow() says. kInvalidShape: rows that the
  // matrix does not have. kInvalidArgument: `from` has scales of rows, which a matrix does not accept; or a
  // weight that the stored format cannot hold: a finite one that would become infinite, or one that is not
  // finite where none can be. The matrix is then as it was.
  Status packRows(size_t first, size_t count, WeightType from, const void* w);

  // allocate and packRows in one, for w in either layout. kInvalidArgument also where `from` has blocks of
  // several inputs and w is kInOut.
  Status pack(WeightType from, const void* w, size_t n, size_t k, WeightType stored,
              WeightLayout layout = WeightLayout::kOutIn);

  // Row r as the product reads it: out [k].
  void row(size_t r, float* out) const;

  size_t rows() const { return n_; }     // n, outputs
  size_t columns() const { return k_; }  // k, inputs
  size_t panels() const { return (n_ + kPanel - 1) / kPanel; }
  WeightType type() const { return type_; }
  bool inFloats() const { return in_floats_; }
  // Whether no weight is, or has been, infinite or NaN, for formats that are quicker to read then.
  bool finite() const { return finite_; }
  size_t bytes() const { return data_.size(); }

  // Panel p, as its format has it; the last one is filled up with rows of zeros.
  const unsigned char* panel(size_t p) const { return data_.data() + p * panel_bytes_; }

  // Panel p from input l on, a multiple of kGemmDepth, as floats [depth][kPanel]: in scratch, which has room
  // for kGemmDepth inputs, or where they are.
  const float* floats(size_t p, size_t l, size_t depth, float* scratch) const;

  // The same in a format of codes: the runs of those inputs, at most kGemmDepth / kRunInputs, whose number it
  // answers.
  size_t unpack(size_t p, size_t l, size_t depth, PanelRun* runs) const;

 private:
  struct Source;

  bool fits(const Source& source, size_t count) const;
  void fill(size_t first, size_t count, const Source& source);
  void decode(size_t p, size_t l, size_t depth, float* out) const;
  bool fillPanel(size_t first, size_t count, const Source& source, size_t source_row);

  Buffer<unsigned char> data_;
  size_t panel_bytes_ = 0;
  size_t n_ = 0;
  size_t k_ = 0;
  WeightType type_ = WeightType::kFloat32;
  bool finite_ = true;
  bool in_floats_ = true;
};

}  // namespace ropewalk
