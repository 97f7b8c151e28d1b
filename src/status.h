// What a call of the core can answer. The numbers cross the wasm boundary: add at the end, never renumber.
#pragma once

namespace ropewalk {

enum class [[nodiscard]] Status : int {
  kOk = 0,
  kOutOfMemory = 1,         // an allocation failed; nothing was changed, unless the call says so
  kInvalidShape = 2,        // sizes that do not fit each other, or whose product overflows
  kInvalidArgument = 3,     // an option outside its range
  kPositionOutOfRange = 4,  // a position outside +-(2^53 - 1), or outside a table
  kFull = 5                 // no room left in what has a fixed capacity; nothing was changed
};

}  // namespace ropewalk
