// Moves Transposes behind elementwise nodes of one value, so that two that undo each other meet and vanish.
// (tf2onnx leaves one inside GELU.)
#pragma once

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// `graph`: in order, constants folded. The result may have nodes that nothing reads.
[[nodiscard]] ForeignGraph with_transposes_sunk(ForeignGraph graph);

}  // namespace mylos
