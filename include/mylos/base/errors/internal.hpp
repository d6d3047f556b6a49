// Error ids of Mylos itself. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// A check inside Mylos failed, or numbers that must agree do not.
inline constexpr ErrorId internal{"internal"};

}  // namespace mylos::errors
