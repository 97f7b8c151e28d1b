// Limits of files of weights, in bytes.
#pragma once

#include <cstdint>

namespace ropewalk {

inline constexpr uint64_t kMaxHeaderBytes =
    100'000'000;  // as the reference implementation of safetensors has it
inline constexpr uint64_t kMaxFileBytes = (uint64_t{1} << 53) - 1;
inline constexpr uint64_t kUnknownBytes = UINT64_MAX;  // size of a file that is known only when it ends

}  // namespace ropewalk
