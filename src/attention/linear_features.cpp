#include "attention/linear_features.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/feature_map.h"
#include "parallel.h"

namespace ropewalk {
namespace {

constexpr size_t kElementWork = 16;  // multiplications that take as long as one coordinate

void mapHead(LinearKernel kernel, float* out, const float* x, size_t dim) {
  switch (kernel) {
    case LinearKernel::kElu1:
      return elu1(out, x, dim);
    case LinearKernel::kRelu:
      return activate(Activation::kRelu, out, x, dim);
    case LinearKernel::kExp:
      return exponential(out, x, dim);
    case LinearKernel::kCosine:
      unitVector(out, x, dim);
      out[dim] = 1;
      return;
    case LinearKernel::kProduct:
      std::copy_n(x, dim, out);
      return;
  }
}

// Positions of a block's tokens; a list is copied to `room`, [axes][count].
Positions positionsOf(const FeatureSource& source, const TokenBlock& block, int64_t* room) {
  const Positions& all = source.positions;
  if (all.values == nullptr) return {nullptr, false, all.offset + static_cast<int64_t>(block.start)};
  const size_t entries = (all.per_batch ? source.x.batch : 1) * source.x.tokens;
  const size_t first = (all.per_batch ? block.batch_entry * source.x.tokens : 0) + block.start;
  for (size_t a = 0; a < source.rope->axes(); ++a) {
    std::copy_n(all.values + a * entries + first, block.count, room + a * block.count);
  }
  return {room, false, 0};
}

}  // namespace

Status FeatureBlock::reserve(const FeatureSource& source) {
  const size_t rows = std::min(kLinearBlock, source.x.tokens);
  const size_t dim = featureDim(source.kernel, source.x.dim);
  const bool separate = source.rope != nullptr && source.keeps_unturned;
  size_t size = 0;
  if (!multiply(rows, source.x.heads, &size) || !multiply(size, dim, &size)) return Status::kOutOfMemory;
  if (features_.reserve(size) != Status::kOk || (separate && plain_.reserve(size) != Status::kOk)) {
    return Status::kOutOfMemory;
  }
  dim_ = dim;
  rows_ = rows;
  separate_ = separate;
  return Status::kOk;
}

Status FeatureBlock::fill(const FeatureSource& source, const TokenBlock& block) {
  parallelFor(source.x.heads, grainOf(kElementWork, block.count, dim_), [&](const Share& share) {
    for (size_t h = share.first; h < share.end; ++h) {
      float* const head = features_.data() + h * headStride();
      for (size_t t = 0; t < block.count; ++t) {
        mapHead(source.kernel, head + t * dim_, source.x.row(block.batch_entry, h, block.start + t),
                source.x.dim);
      }
      if (separate_) std::copy_n(head, block.count * dim_, plain_.data() + h * headStride());
    }
  });
  if (source.rope == nullptr) return Status::kOk;
  int64_t room[kMaxAxes * kLinearBlock];
  const HeadView<float> heads = {features_.data(), 1, source.x.heads, block.count,
                                 source.x.dim,     0, headStride(),   dim_};
  return source.rope->rotate(heads, positionsOf(source, block, room), Turn::kForward, source.role);
}

}  // namespace ropewalk
