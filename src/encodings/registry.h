// Every position encoding there is, by the name that all layers use: options, menus, links and tests loop
// over this list. A new encoding adds its line here and in bindings/ts/encodings/encodings.ts.
#pragma once

namespace ropewalk {

enum class Family : int {
  kAbsolute = 0,  // a vector for each position, merged with the token's
  kRotary = 1,    // queries and keys turned by their positions
  kBias = 2,      // a number for each distance, or distance and query, added to the scores
  kRelative = 3   // a vector for each distance, met by queries and keys
};

struct Encoding {
  const char* name;
  Family family;
};

inline constexpr Encoding kEncodings[] = {
    {"binary", Family::kAbsolute},
    {"sinusoidal", Family::kAbsolute},
    {"learned", Family::kAbsolute},
    {"rope", Family::kRotary},
    {"alibi", Family::kBias},
    {"t5", Family::kBias},
    {"shaw", Family::kRelative},
    {"relative_key", Family::kRelative},
    {"relative_key_query", Family::kRelative},
    {"m3", Family::kRelative},
    {"kerple", Family::kBias},
    {"fire", Family::kBias},
    {"sandwich", Family::kBias},
};

}  // namespace ropewalk
