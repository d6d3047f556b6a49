// Error ids of calls of the library by a program. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// A program called the library with arguments or in an order that it does not allow.
inline constexpr ErrorId bad_call{"bad-call"};

}  // namespace mylos::errors
