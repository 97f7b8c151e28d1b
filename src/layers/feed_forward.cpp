#include "layers/feed_forward.h"

#include <algorithm>
#include <utility>

#include "memory.h"

namespace ropewalk {
namespace {

// A multiple of the rows that gemm packs at a time, so that weights are read no more often than for all rows
// at once.
constexpr size_t kChunkRows = 300;

}  // namespace

Status FeedForward::create(Activation activation, FeedForwardParts&& parts) {
  const PackedMatrix& gate = parts.gate.weight();
  const PackedMatrix& up = parts.up.weight();
  const PackedMatrix& down = parts.down.weight();
  const bool gate_fits = gate.rows() == 0 || (gate.rows() == up.rows() && gate.columns() == up.columns());
  if (!gate_fits || up.rows() == 0 || down.columns() != up.rows() || down.rows() != up.columns()) {
    return Status::kInvalidShape;
  }
  activation_ = activation;
  parts_ = std::move(parts);
  return Status::kOk;
}

bool FeedForward::workSize(size_t rows, size_t* size) const {
  return multiply(std::min(rows, kChunkRows) * (gated() ? 2 : 1), hiddenDim(), size);
}

void FeedForward::apply(float* out, const float* x, size_t rows, float* work) const {
  const size_t model = modelDim();
  for (size_t start = 0; start < rows; start += kChunkRows) {
    const size_t count = std::min(kChunkRows, rows - start);
    const size_t cells = count * hiddenDim();
    const float* in = x + start * model;
    parts_.up.apply(work, in, count);
    if (gated()) {
      float* const gate = work + cells;
      parts_.gate.apply(gate, in, count);
      activateGated(activation_, work, gate, work, cells);
    } else {
      activate(activation_, work, work, cells);
    }
    parts_.down.apply(out + start * model, work, count);
  }
}

}  // namespace ropewalk
