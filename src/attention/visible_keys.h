// Which keys a query may attend to by their positions: causal order, windows, sink tokens, padding. Masks
// come on top.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/attention.h"

namespace ropewalk {

// Keys first ... end - 1.
struct KeyRange {
  size_t first = 0;
  size_t end = 0;

  bool empty() const { return first >= end; }
};

// [0, sink_tokens) and [first, end), sink_tokens <= first <= end.
struct VisibleKeys {
  size_t sink_tokens;
  size_t first;
  size_t end;

  // The least range that holds those of [start, stop).
  KeyRange within(size_t start, size_t stop) const {
    const size_t from = std::max(start, start < sink_tokens ? start : first);
    size_t to = std::min(stop, end);
    if (to <= first) to = std::min(stop, sink_tokens);  // nothing but sink tokens
    return {from, std::max(from, to)};
  }
};

// Whether positions count beside the distances of keys from queries.
inline bool countsPositions(const AttentionOptions& options) {
  return options.chunked || options.temperature.step != 0 || options.fire.out_bias != nullptr;
}

// The position of key j.
inline int64_t keyPosition(const AttentionOptions& options, size_t j) {
  return options.key_positions == nullptr ? static_cast<int64_t>(j) : options.key_positions[j];
}

// The position of query i of batch entry b.
inline int64_t queryPosition(const AttentionOptions& options, size_t b, size_t i) {
  return static_cast<int64_t>(i) +
         (options.query_offsets == nullptr ? options.query_offset : options.query_offsets[b]);
}

// How many keys are before a position.
inline size_t keysBefore(const AttentionOptions& options, size_t keys, int64_t position) {
  if (options.key_positions != nullptr) {
    const int64_t* begin = options.key_positions;
    return static_cast<size_t>(std::lower_bound(begin, begin + keys, position) - begin);
  }
  if (position <= 0) return 0;
  return static_cast<uint64_t>(position) >= keys ? keys : static_cast<size_t>(position);
}

// Those of a query of batch entry b at a position.
inline VisibleKeys visibleKeys(const AttentionOptions& options, size_t b, int64_t position, size_t keys) {
  size_t end = keys;
  if (options.key_lengths != nullptr) {
    end = static_cast<size_t>(std::clamp<int64_t>(options.key_lengths[b], 0, static_cast<int64_t>(keys)));
  }
  if (options.causal) end = std::min(end, keysBefore(options, keys, position + 1));
  if (options.window_right >= 0) {
    end = std::min(end, keysBefore(options, keys, position + options.window_right + 1));
  }
  int64_t left = options.window_left;
  if (options.chunked && left >= 0) {
    const int64_t size = left + 1;
    left = (position % size + size) % size;
  }
  const size_t first = left < 0 ? 0 : std::min(end, keysBefore(options, keys, position - left));
  return {std::min(options.sink_tokens, first), first, end};
}

}  // namespace ropewalk
