// The values that a deck gives for edges: a word, a list of one for each axis, or a table of words by axis.
#pragma once

#include "mylos/config/schema/types/value_type.hpp"
#include "mylos/model/layers/edges.hpp"

namespace mylos {

[[nodiscard]] ValueType<Edges> edges_type();

}  // namespace mylos
