// Which way up the fields of a store are drawn.
#pragma once

#include "mylos/data/arrays/array_store.hpp"

namespace mylos {

/// Returns whether the rows of the store's fields run from south to north: the axis before the last of the
/// grid has coordinates that ascend, and CF's attributes (units, standard_name, axis) or its name say that
/// they point north ("lat", "latitude", "y").
[[nodiscard]] bool rows_run_north(const ArrayStore& store);

}  // namespace mylos
