#include "models/logits_head.h"

#include <utility>

#include "kernels/gemm.h"
#include "kernels/softcap.h"

namespace ropewalk {

Status LogitsHead::create(const HeadOptions& options, HeadParts&& parts, const PackedMatrix* tied) {
  const PackedMatrix* const borrowed = parts.weight.rows() == 0 ? tied : nullptr;
  const PackedMatrix& weight = borrowed != nullptr ? *borrowed : parts.weight;
  const PackedMatrix& transform = parts.transform.weight();
  if (weight.rows() == 0 || (transform.rows() != 0 && transform.rows() != weight.columns()) ||
      (parts.norm.kind() != NormKind::kNone &&
       (transform.rows() == 0 || parts.norm.size() != weight.columns())) ||
      (parts.bias.size() != 0 && parts.bias.size() != weight.rows())) {
    return Status::kInvalidShape;
  }
  options_ = options;
  parts_ = std::move(parts);
  tied_ = borrowed;
  return Status::kOk;
}

size_t LogitsHead::bytes() const {
  return parts_.transform.bytes() + parts_.norm.bytes() + parts_.weight.bytes() +
         parts_.bias.size() * sizeof(float);
}

Status LogitsHead::apply(float* out, const float* x, size_t rows) const {
  const size_t width = weight().columns();
  Buffer<float> transformed;
  if (parts_.transform.weight().rows() != 0) {
    size_t cells = 0;
    if (!multiply(rows, width, &cells)) return Status::kInvalidShape;
    if (transformed.allocate(cells) != Status::kOk) return Status::kOutOfMemory;
    float* const t = transformed.data();
    parts_.transform.apply(t, x, rows);
    if (parts_.norm.kind() != NormKind::kNone) {
      activate(options_.activation, t, t, cells);
      parts_.norm.apply(t, t, rows);
    }
    x = t;
  }
  const size_t vocab = vocabSize();
  gemm(out, vocab, x, width, weight(), rows, {false, parts_.bias.data(), nullptr});
  if (options_.scale != 1) {
    for (size_t i = 0; i < rows * vocab; ++i) out[i] *= options_.scale;
  }
  if (options_.softcap > 0) softcapRow(out, rows * vocab, options_.softcap);
  return Status::kOk;
}

}  // namespace ropewalk
