// Powers of doubles from + - * / alone: the same bits on every platform, and without the tables of std::pow,
// which are 4 kB of a compressed wasm build.
#pragma once

namespace ropewalk {

// x^y for finite x >= 0 and finite y; 1 for y = 0, and 0 or infinity where a double cannot hold it. Relative
// error at most (2 + |y log2 x|) 2^-52.
double power(double x, double y);

}  // namespace ropewalk
