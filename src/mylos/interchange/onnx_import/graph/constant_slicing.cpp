#include "mylos/interchange/onnx_import/graph/constant_slicing.hpp"

#include <algorithm>
#include <numeric>

namespace mylos {
namespace {

bool has_operand(const std::vector<const ForeignTensor*>& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i] != nullptr;
}

/// The indices of one axis that a Slice picks.
std::vector<std::size_t> sliced_axis(std::int64_t extent, std::int64_t start, std::int64_t end,
                                     std::int64_t step) {
  const auto bound = [&](std::int64_t at, std::int64_t least) {
    return std::clamp<std::int64_t>(at < 0 ? at + extent : at, least, step > 0 ? extent : extent - 1);
  };
  const std::int64_t first = bound(start, 0);
  const std::int64_t last = end < -extent ? -1 : bound(end, step > 0 ? 0 : -1);
  std::vector<std::size_t> indices;
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += step)
    indices.push_back(static_cast<std::size_t>(i));
  return indices;
}

}  // namespace

std::optional<std::size_t> folded_axis(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

ForeignTensor picked(const ForeignTensor& from, OnnxNumbers dims, const std::vector<std::size_t>& indices) {
  ForeignTensor to{.dims = std::move(dims), .is_integer = from.is_integer};
  for (const std::size_t i : indices) {
    if (from.is_integer)
      to.integers.push_back(from.integers[i]);
    else
      to.reals.push_back(from.reals[i]);
  }
  return to;
}

std::optional<ForeignTensor> sliced(const std::vector<const ForeignTensor*>& inputs) {
  if (!has_operand(inputs, 0) || !has_operand(inputs, 1) || !has_operand(inputs, 2)) return std::nullopt;
  const ForeignTensor& x = *inputs[0];
  const OnnxNumbers& starts = inputs[1]->integers;
  const OnnxNumbers& ends = inputs[2]->integers;
  OnnxNumbers axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (has_operand(inputs, 3)) axes = inputs[3]->integers;
  const OnnxNumbers steps = has_operand(inputs, 4) ? inputs[4]->integers : OnnxNumbers(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return std::nullopt;
  ForeignTensor result = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = folded_axis(axes[i], x.dims.size());
    if (!axis || (steps[i] != 1 && steps[i] != -1)) return std::nullopt;
    const std::int64_t extent = result.dims[*axis];
    if (extent < 1) return std::nullopt;
    std::size_t inner = 1;
    for (std::size_t after = *axis + 1; after < x.dims.size(); ++after)
      inner *= static_cast<std::size_t>(result.dims[after]);
    const std::vector<std::size_t> kept = sliced_axis(extent, starts[i], ends[i], steps[i]);
    std::vector<std::size_t> indices;
    for (std::size_t outer = 0; outer < result.size() / inner; outer += static_cast<std::size_t>(extent)) {
      for (const std::size_t at : kept) {
        for (std::size_t j = 0; j < inner; ++j) indices.push_back((outer + at) * inner + j);
      }
    }
    OnnxNumbers dims = result.dims;
    dims[*axis] = static_cast<std::int64_t>(kept.size());
    result = picked(result, std::move(dims), indices);
  }
  return result;
}

}  // namespace mylos
