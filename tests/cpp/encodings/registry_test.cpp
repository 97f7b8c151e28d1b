#include "encodings/registry.h"

#include <cstddef>
#include <cstring>
#include <iterator>

#include "catch.h"

namespace ropewalk::test {

TEST_CASE("Every encoding has a name of its own and a family", "[encodings]") {
  for (size_t i = 0; i < std::size(kEncodings); ++i) {
    REQUIRE(kEncodings[i].name != nullptr);
    CHECK(std::strlen(kEncodings[i].name) > 0);
    CHECK(kEncodings[i].family >= Family::kAbsolute);
    CHECK(kEncodings[i].family <= Family::kRelative);
    for (size_t j = 0; j < i; ++j) CHECK(std::strcmp(kEncodings[i].name, kEncodings[j].name) != 0);
  }
}

}  // namespace ropewalk::test
