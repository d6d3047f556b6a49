// A function that Highway compiles for each of its targets, as the kernels are.
#pragma once

#include <cstddef>

namespace mylos::test {

/// Returns the floats of a vector of the target in use.
[[nodiscard]] std::size_t vector_lanes();

}  // namespace mylos::test
