// Error ids of memory. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// The run or command needs more memory than its budget or the machine has, also with recomputation.
inline constexpr ErrorId does_not_fit{"does-not-fit"};
/// The system gave no more memory.
inline constexpr ErrorId out_of_memory{"out-of-memory"};

}  // namespace mylos::errors
