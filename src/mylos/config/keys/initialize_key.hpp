// [[model.initialize]]: the distributions of initial values.
#pragma once

#include "mylos/config/schema/schema.hpp"

namespace mylos {

/// Returns the key model.initialize.
[[nodiscard]] Key initialize_key();

}  // namespace mylos
