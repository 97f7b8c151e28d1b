#include "training/disentangled_rows.h"

#include <algorithm>
#include <cmath>

#include "training/distances.h"

namespace ropewalk::training {
namespace {

int64_t bucketOf(int64_t distance, int64_t middle, int64_t most) {
  if (most == 0 || distance <= middle) return distance;
  const auto m = static_cast<double>(middle);
  const double share =
      std::log(static_cast<double>(distance) / m) / std::log(static_cast<double>(most - 1) / m);
  return static_cast<int64_t>(std::ceil(share * (m - 1))) + middle;
}

}  // namespace

Status disentangledRows(size_t span, int64_t most, Buffer<int32_t>* room, RelativeRows* rows) {
  const auto half = static_cast<int64_t>(span);
  int64_t limit = 1;  // from here on all share the outermost rows
  while (limit < static_cast<int64_t>(kMostTokens) && bucketOf(limit, half / 2, most) < half) ++limit;
  if (room->allocate(2 * static_cast<size_t>(limit) + 1) != Status::kOk) return Status::kOutOfMemory;
  for (int64_t d = 0; d <= limit; ++d) {
    const int64_t bucket = bucketOf(d, half / 2, most);
    room->data()[limit + d] = static_cast<int32_t>(std::min(half + bucket, 2 * half - 1));
    room->data()[limit - d] = static_cast<int32_t>(std::max(half - bucket, int64_t{0}));
  }
  *rows = {limit, false, room->data()};
  return Status::kOk;
}

}  // namespace ropewalk::training
