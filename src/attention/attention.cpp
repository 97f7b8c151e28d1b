#include "attention/attention.h"

#include <algorithm>

#include "attention/attention_tile.h"
#include "attention/key_blocks.h"
#include "parallel.h"

namespace ropewalk {
namespace {

// What one thread goes through tiles with.
struct TileWork {
  AttentionTile tile;
  KeyBlocks blocks;
  size_t head = 0;  // one more than the number of that which the blocks are of

  TileWork(HeadView<float> out, HeadView<const float> q, const StoredView& k, const AttentionOptions& options,
           const ScoreOutputs& scores)
      : tile(out, q, k, options, scores) {}
};

bool fits(HeadView<float> out, HeadView<const float> q, const StoredView& k, const StoredView& v) {
  return q.batch == k.batch && k.batch == v.batch && out.batch == q.batch && k.heads == v.heads &&
         k.heads != 0 && q.heads % k.heads == 0 && out.heads == q.heads && q.dim == k.dim &&
         k.tokens == v.tokens && out.tokens == q.tokens && out.dim == v.dim;
}

}  // namespace

Status attention(HeadView<float> out, HeadView<const float> q, const StoredView& k, const StoredView& v,
                 const AttentionOptions& options, const ScoreOutputs& scores) {
  if (!fits(out, q, k, v)) return Status::kInvalidShape;
  size_t queries = 0;  // that read one key head
  if (!multiply(q.heads / k.heads, q.tokens, &queries)) return Status::kInvalidShape;
  const size_t rows = std::min(queries, AttentionTile::kQueries);
  const size_t tiles = rows == 0 ? 0 : (queries + rows - 1) / rows;  // that read one key head
  size_t count = 0;
  if (!multiply(q.batch * k.heads, tiles, &count)) return Status::kInvalidShape;
  const size_t grain = grainOf(rows, k.tokens, k.dim + v.dim);
  PerThread<TileWork> work;
  Status status = work.create(threadsFor(count, grain), out, q, k, options, scores);
  for (size_t i = 0; i < work.size() && status == Status::kOk; ++i) {
    status = work[i].blocks.allocate(k, v, queries > rows);
    if (status == Status::kOk) status = work[i].tile.allocate(rows);
  }
  if (status != Status::kOk) return Status::kOutOfMemory;

  parallelFor(count, grain, [&](const Share& share) {
    TileWork& with = work[share.thread];
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t head = i / tiles;
      const size_t b = head / k.heads;
      const size_t g = head % k.heads;
      if (with.head != head + 1) with.blocks.startHead(b, g);
      with.head = head + 1;
      const size_t first = i % tiles * rows;
      with.tile.run(b, g, first, std::min(rows, queries - first), with.blocks);
    }
  });
  return Status::kOk;
}

}  // namespace ropewalk
