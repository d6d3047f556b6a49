// The windows of convolutions and pools: strides, dilations and padding by axis.
#pragma once

#include "mylos/interchange/onnx_import/importer.hpp"

namespace mylos {

struct WindowAttributes {
  OnnxNumbers kernel;
  OnnxNumbers strides;
  OnnxNumbers dilations;
  OnnxNumbers before;
  OnnxNumbers after;
  bool is_same = false;        // auto_pad: padding follows from the input
  bool is_same_lower = false;  // of an odd number the larger half is before
};

/// Reads the attributes of a node for a grid of `axes` axes. `kernel`: if the node does not state it. Throws
/// Error (bad_input) for numbers out of range.
[[nodiscard]] WindowAttributes window_attributes(const Importer& importer, const ForeignNode& node,
                                                 std::size_t axes, OnnxNumbers kernel);

/// Sets the padding of auto_pad SAME_UPPER or SAME_LOWER, with which the output has ceil(extent / stride)
/// points.
void set_same_padding(WindowAttributes& window, const OnnxNumbers& extents);

}  // namespace mylos
