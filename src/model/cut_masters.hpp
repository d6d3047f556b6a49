// Masters cut over ranks: where in a layout the slices lie that a rank holds of them, and the compute weights
// of all.
#pragma once

#include "mylos/model/parameter_layout.hpp"

namespace mylos {

/// Places masters and compute weights anew; buckets and gradients stay where they are.
void cut_masters(ParameterLayout& layout, int holders);

}  // namespace mylos
