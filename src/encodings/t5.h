// T5's relative position bias: distances fall into buckets, exact ones near and logarithmic ones far, and
// each head learns one number per bucket. Raffel et al., arXiv:1910.10683. (T5 does not scale its scores by 1
// / sqrt(D).)
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"
#include "status.h"

namespace ropewalk {

struct T5Options {
  bool bidirectional = true;   // encoders; decoders put all keys after the query into bucket 0
  size_t num_buckets = 32;     // even if bidirectional
  int64_t max_distance = 128;  // from here on all distances share the last bucket
};

class T5Buckets {
 public:
  // kInvalidArgument: too few buckets, odd ones, or a max_distance within the exact buckets.
  Status create(const T5Options& options);

  // The bucket of a relative position, key minus query, above INT64_MIN.
  size_t bucket(int64_t relative) const;

  // out [heads, queries, keys] = table [num_buckets, heads] by the bucket of j - (i + query_offset).
  void bias(const float* table, size_t heads, size_t queries, size_t keys, int64_t query_offset,
            float* out) const;

 private:
  T5Options options_;
  size_t half_ = 0;         // buckets of one direction
  Buffer<int64_t> starts_;  // first distance of each logarithmic bucket
};

}  // namespace ropewalk
