#include "mylos/interchange/onnx_import/window_attributes.hpp"

#include <algorithm>

#include "mylos/base/errors/contents.hpp"

namespace mylos {
namespace {

OnnxNumbers checked(const Importer& importer, const ForeignNode& node, const char* attribute,
                    OnnxNumbers numbers, std::size_t count, std::int64_t min) {
  if (numbers.size() != count)
    fail_input(errors::damaged, "{} has {} numbers in {}; its grid needs {}", describe(importer.graph, node),
               numbers.size(), attribute, count);
  for (const std::int64_t number : numbers) {
    if (number < min || number > max_kernel)
      importer.refuse(node, "has {} in {}; Mylos takes {} to {}", number, attribute, min, max_kernel);
  }
  return numbers;
}

}  // namespace

WindowAttributes window_attributes(const Importer& importer, const ForeignNode& node, std::size_t axes,
                                   OnnxNumbers kernel) {
  const auto read = [&](const char* attribute, OnnxNumbers absent, std::size_t count, std::int64_t min) {
    return checked(importer, node, attribute, node.get<OnnxNumbers>(attribute, std::move(absent)), count,
                   min);
  };
  WindowAttributes window;
  window.kernel = read("kernel_shape", std::move(kernel), axes, 1);
  window.strides = read("strides", OnnxNumbers(axes, 1), axes, 1);
  window.dilations = read("dilations", OnnxNumbers(axes, 1), axes, 1);
  const OnnxNumbers pads = read("pads", OnnxNumbers(2 * axes, 0), 2 * axes, 0);
  window.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  const auto automatic = node.get<std::string>("auto_pad", "NOTSET");
  window.is_same_lower = automatic == "SAME_LOWER";
  window.is_same = window.is_same_lower || automatic == "SAME_UPPER";
  if (automatic == "VALID") window.before = window.after = OnnxNumbers(axes, 0);
  return window;
}

void set_same_padding(WindowAttributes& window, const OnnxNumbers& extents) {
  if (!window.is_same) return;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t outputs = (extents[axis] - 1) / window.strides[axis] + 1;
    const std::int64_t spanned = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (outputs - 1) * window.strides[axis] + spanned - extents[axis]);
    window.before[axis] = window.is_same_lower ? total - total / 2 : total / 2;
    window.after[axis] = total - window.before[axis];
  }
}

}  // namespace mylos
