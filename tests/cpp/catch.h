// Includes Catch2, from its package or from its amalgamated files.
#pragma once

#if __has_include(<catch_amalgamated.hpp>)
#include <catch_amalgamated.hpp>  // IWYU pragma: export
#else
#include <catch2/catch_test_macros.hpp>  // IWYU pragma: export
#endif
