#include "mylos/interchange/onnx_import/thin_axes.hpp"

#include <algorithm>

namespace mylos {
namespace {

/// The axes of the file's shape, counted without batch and channels, that our grid does not have; nothing if
/// the value is not [channels, extents ...] with such axes.
std::optional<std::vector<std::size_t>> thin_axes(const FileValue& x) {
  if (x.extents.empty() || x.shape.size() < x.extents.size() + 2 || x.shape[0] != x.channels || x.edges.any())
    return std::nullopt;
  std::vector<std::size_t> thin;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis + 1 < x.shape.size(); ++axis) {
    const std::int64_t extent = x.shape[axis + 1];
    if (next < x.extents.size() && extent == x.extents[next])
      ++next;
    else if (extent == 1)
      thin.push_back(axis);
    else
      return std::nullopt;
  }
  if (next != x.extents.size() || !x.has_channels_first_order()) return std::nullopt;
  return thin;
}

template <class Numbers>
void erase(Numbers& numbers, const std::vector<std::size_t>& axes, std::size_t first) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(first + *axis));
}

/// Removes the axes from an attribute of a number, or two, for each. False: it does something along them.
bool cut_attribute(ForeignNode& node, const char* name, std::size_t rank,
                   const std::vector<std::size_t>& axes, std::int64_t idle) {
  const auto* given = node.find<OnnxNumbers>(name);
  if (given == nullptr) return true;
  OnnxNumbers numbers = *given;
  if (numbers.size() != rank && numbers.size() != 2 * rank) return false;
  for (std::size_t first = numbers.size(); first >= rank; first -= rank) {
    for (const std::size_t axis : axes) {
      if (numbers[first - rank + axis] != idle && idle >= 0) return false;
    }
    erase(numbers, axes, first - rank);
  }
  node.attributes[name] = {std::move(numbers)};
  return true;
}

}  // namespace

bool import_without_thin_axes(Importer& importer, const ForeignNode& node, ImportNode import) {
  constexpr std::string_view of_windows[] = {"Conv", "ConvTranspose", "MaxPool", "AveragePool"};
  const FileValue* const found = node.has_input(0) ? importer.find(node.inputs[0]) : nullptr;
  if (std::find(std::begin(of_windows), std::end(of_windows), node.op) == std::end(of_windows) ||
      found == nullptr)
    return false;
  FileValue x = *found;
  const auto axes = thin_axes(x);
  if (!axes || axes->empty()) return false;
  const std::size_t rank = x.shape.size() - 1;
  ForeignNode thin = node;
  bool is_idle = true;
  constexpr std::int64_t any = -1;
  for (const auto& [name, idle] : {std::pair("kernel_shape", std::int64_t{1}),
                                   {"strides", any},
                                   {"dilations", any},
                                   {"pads", std::int64_t{0}},
                                   {"output_padding", std::int64_t{0}}})
    is_idle = is_idle && cut_attribute(thin, name, rank, *axes, idle);
  const bool has_kernel = node.op.starts_with("Conv");
  if (const ForeignTensor* kernel = has_kernel ? importer.constant(node, 1) : nullptr) {
    is_idle = is_idle && kernel->dims.size() == rank + 2;
    for (const std::size_t axis : *axes) is_idle = is_idle && kernel->dims[axis + 2] == 1;
    if (!is_idle) return false;
    ForeignTensor without = *kernel;
    erase(without.dims, *axes, 2);
    thin.inputs[1] = node.inputs[1] + "//weight";  // a name that layers get without its ending
    importer.set_constant(thin.inputs[1], std::move(without));
  }
  if (!is_idle) return false;
  erase(x.shape, *axes, 1);
  thin.inputs[0] = node.inputs[0] + " without axes of one";
  importer.set_copy(node.inputs[0], thin.inputs[0], std::move(x));
  import(importer, thin);
  FileValue y = *importer.find(node.outputs.front());
  for (const std::size_t axis : *axes)
    y.shape.insert(y.shape.begin() + static_cast<std::ptrdiff_t>(axis + 1), 1);
  importer.set(node, std::move(y));
  return true;
}

}  // namespace mylos
