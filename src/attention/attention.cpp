#include "attention/attention.h"

#include <algorithm>

#include "attention/attention_tile.h"
#include "attention/key_blocks.h"

namespace ropewalk {
namespace {

bool fits(HeadView<float> out, HeadView<const float> q, const KeyView& k, const StoredView& v) {
  return q.batch == k.batch && k.batch == v.batch && out.batch == q.batch && k.heads == v.heads &&
         k.heads != 0 && q.heads % k.heads == 0 && out.heads == q.heads && q.dim == k.dim &&
         k.tokens == v.tokens && out.tokens == q.tokens && out.dim == v.dim;
}

}  // namespace

Status attention(HeadView<float> out, HeadView<const float> q, const KeyView& k, const StoredView& v,
                 const AttentionOptions& options, const ScoreOutputs& scores) {
  if (!fits(out, q, k, v)) return Status::kInvalidShape;
  size_t queries = 0;  // that read one key head
  if (!multiply(q.heads / k.heads, q.tokens, &queries)) return Status::kInvalidShape;
  const size_t rows = std::min(queries, AttentionTile::kQueries);
  KeyBlocks blocks;
  AttentionTile tile(out, q, k, options, scores);
  if (blocks.allocate(k, v, queries > rows) != Status::kOk || tile.allocate(rows) != Status::kOk)
    return Status::kOutOfMemory;

  for (size_t b = 0; b < q.batch && queries > 0; ++b) {
    for (size_t g = 0; g < k.heads; ++g) {
      blocks.startHead(b, g);
      for (size_t first = 0; first < queries; first += rows)
        tile.run(b, g, first, std::min(rows, queries - first), blocks);
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
