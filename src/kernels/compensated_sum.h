// Sums of rows that stay accurate, however many rows are added one by one.
#pragma once

#include <cstddef>

namespace ropewalk {

// sum[i] += x[i], with what the rounding lost carried in rest[i] to the next call (Kahan 1965, with Knuth's
// two-sum): sum is off by at most 2^-23 times the sum of all |x|, after any number of calls. rest starts as
// zeros and stays finite. All three apart.
void addCompensated(float* sum, float* rest, const float* x, size_t n);

}  // namespace ropewalk
