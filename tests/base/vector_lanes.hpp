// A function that Highway compiles for each of its targets, as the kernels are.
#pragma once

#include <cstddef>

namespace mylos::test {

/// Floats of a vector of the target by which it runs.
[[nodiscard]] std::size_t vector_lanes();

}  // namespace mylos::test
