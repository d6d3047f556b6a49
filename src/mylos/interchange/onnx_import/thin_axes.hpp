// Axes of one element that a file has beside those of our grid: Keras writes a convolution along a line as
// one of [batch, channels, 1, points].
#pragma once

#include "mylos/interchange/onnx_import/importer.hpp"

namespace mylos {

/// Imports a convolution or a pool as one without such axes, where its window does nothing along them, and
/// gives its result them again. Returns false for other nodes.
[[nodiscard]] bool import_without_thin_axes(Importer& importer, const ForeignNode& node, ImportNode import);

}  // namespace mylos
