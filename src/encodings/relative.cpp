#include "encodings/relative.h"

namespace ropewalk {

void relativeRows(const RelativeRows& rows, size_t queries, size_t keys, int64_t query_offset, double* out) {
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < keys; ++j) {
      const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i) - query_offset;
      *out++ = static_cast<double>(rows.row(distance));
    }
  }
}

}  // namespace ropewalk
