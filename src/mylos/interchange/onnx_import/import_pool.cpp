// MaxPool, AveragePool, GlobalAveragePool, the mean over a grid, and Resize.
#include <algorithm>
#include <cmath>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"
#include "mylos/interchange/onnx_import/window_attributes.hpp"

namespace mylos {
namespace {

FileValue grid_input(Importer& importer, const ForeignNode& node) {
  FileValue x = importer.layer_input(node, 0);
  if (!x.is_channels_first())
    importer.refuse(node, "reads {}; expected [batch, channels, extents ...] of a grid", x.text());
  return x;
}

template <class Pool>
void import_windows(Importer& importer, const ForeignNode& node) {
  const FileValue x = grid_input(importer, node);
  if (!node.attributes.contains("kernel_shape"))
    fail_input(errors::damaged, "{} has no kernel_shape", describe(importer.graph, node));
  WindowAttributes window = window_attributes(importer, node, x.extents.size(), {});
  set_same_padding(window, x.extents);
  if (window.before != window.after)
    importer.refuse(node, "pads the two ends of an axis differently; Mylos' pools pad both alike");
  if (window.dilations != OnnxNumbers(x.extents.size(), 1))
    importer.refuse(node, "has dilations; Mylos' pools have none");
  const bool rounds_up = node.get<std::int64_t>("ceil_mode", 0) != 0;
  const bool pads = std::any_of(window.before.begin(), window.before.end(), [](auto n) { return n > 0; });
  if (pads && node.get<std::int64_t>("count_include_pad", 0) != 0)
    importer.refuse(node, "counts padding in its means (count_include_pad); Mylos' average pools do not");
  OnnxNumbers extents;
  for (std::size_t axis = 0; axis < x.extents.size(); ++axis) {
    const std::int64_t room = x.extents[axis] + 2 * window.before[axis] - window.kernel[axis];
    if (room < 0) importer.refuse(node, "has windows larger than its input {}", x.text());
    if (rounds_up && room % window.strides[axis] != 0)
      importer.refuse(
          node, "has a last window beyond the grid (ceil_mode); Mylos' pools have complete windows alone");
    extents.push_back(room / window.strides[axis] + 1);
  }
  Pool pool;
  pool.kernel = window.kernel;
  pool.stride = window.strides;
  pool.padding = window.before;
  const std::size_t position = importer.chain.append({.kind = pool}, x.position, "");
  importer.set(node, channels_first_value(position, std::move(extents), x.channels));
}

void append_mean(Importer& importer, const ForeignNode& node, const FileValue& x, OnnxNumbers shape) {
  FileValue y = channels_last_value(0, {}, x.channels);
  y.shape = std::move(shape);
  y.position = importer.chain.append({.kind = kinds::GlobalPool{}}, x.position, "");
  importer.set(node, std::move(y));
}

void import_global(Importer& importer, const ForeignNode& node) {
  const FileValue x = grid_input(importer, node);
  OnnxNumbers shape(x.shape.size(), 1);
  shape[0] = x.channels;
  append_mean(importer, node, x, std::move(shape));
}

void import_mean(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.layer_input(node, 0);
  const auto axes = importer.integers(node, 1, "axes");
  std::vector<bool> reduces(x.shape.size(), false);
  for (const std::int64_t axis : axes.value_or(OnnxNumbers{}))
    reduces[importer.axis_of(node, axis, x)] = true;
  const bool is_first = x.is_channels_first();
  const std::size_t channels = is_first ? 0 : x.shape.size() - 1;
  bool is_global = !x.extents.empty() && (is_first || x.is_channels_last());
  OnnxNumbers shape;
  for (std::size_t i = 0; i < reduces.size(); ++i) {
    is_global = is_global && reduces[i] != (i == channels);
    if (!reduces[i])
      shape.push_back(x.shape[i]);
    else if (node.get<std::int64_t>("keepdims", 1) != 0)
      shape.push_back(1);
  }
  if (!is_global) importer.refuse(node, "of {} is not the mean of each channel over a grid", x.text());
  append_mean(importer, node, x, std::move(shape));
}

double source_of(const std::string& mode, double i, double factor, double points) {
  if (mode == "asymmetric") return i / factor;
  if (mode == "align_corners") return points * factor > 1 ? i * (points - 1) / (points * factor - 1) : 0;
  if (mode == "pytorch_half_pixel" && points * factor <= 1) return 0;
  return (i + 0.5) / factor - 0.5;
}

double rounded(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// Returns whether Resize repeats each point `factor` times.
bool repeats(const ForeignNode& node, std::int64_t points, std::int64_t factor) {
  const auto transformation = node.get<std::string>("coordinate_transformation_mode", "half_pixel");
  const auto mode = node.get<std::string>("nearest_mode", "round_prefer_floor");
  for (std::int64_t i = 0; i < points * factor; ++i) {
    const double from = source_of(transformation, static_cast<double>(i), static_cast<double>(factor),
                                  static_cast<double>(points));
    const double clamped = std::clamp(rounded(mode, from), 0., static_cast<double>(points - 1));
    if (clamped != static_cast<double>(i / factor)) return false;
  }
  return true;
}

/// Returns the factor of each axis, batch and channels included.
OnnxNumbers factors_of(const Importer& importer, const ForeignNode& node, const FileValue& x) {
  OnnxNumbers factors;
  const std::size_t rank = x.shape.size() + 1;
  if (const ForeignTensor* sizes = importer.constant(node, 3); sizes != nullptr && sizes->size() > 0) {
    for (std::size_t i = 0; i < sizes->integers.size() && i < rank; ++i) {
      const bool is_batch = i == 0;
      const std::int64_t size = sizes->integers[i];
      if (!is_batch && (size < 1 || size % x.shape[i - 1] != 0))
        importer.refuse(node, "makes {} points of {}; Mylos multiplies them by integers", size,
                        x.shape[i - 1]);
      factors.push_back(is_batch ? 1 : size / x.shape[i - 1]);
    }
  } else if (const ForeignTensor* scales = importer.constant(node, 2)) {
    for (const float scale : scales->reals) {
      const bool is_integer =
          scale >= 1 && scale <= static_cast<float>(max_kernel) && scale == std::floor(scale);
      if (!is_integer)
        importer.refuse(node, "multiplies points by {}; Mylos multiplies them by integers", scale);
      factors.push_back(static_cast<std::int64_t>(scale));
    }
  }
  if (factors.size() != rank || factors[0] != 1 || factors[1] != 1)
    importer.refuse(node, "does not resize the extents of {} alone, by constants", x.text());
  return factors;
}

void import_resize(Importer& importer, const ForeignNode& node) {
  const FileValue x = grid_input(importer, node);
  OnnxNumbers factors = factors_of(importer, node, x);
  factors.erase(factors.begin(), factors.begin() + 2);
  const auto mode = node.get<std::string>("mode", "nearest");
  const auto transformation = node.get<std::string>("coordinate_transformation_mode", "half_pixel");
  kinds::Upsample upsample{.factor = factors};
  OnnxNumbers extents;
  bool fits = (mode == "nearest" || mode == "linear") && node.get<std::int64_t>("antialias", 0) == 0;
  for (std::size_t axis = 0; axis < factors.size(); ++axis) {
    if (factors[axis] > max_kernel || x.extents[axis] > max_points / max_kernel)
      importer.refuse(node, "multiplies points by {}; at most {}", factors[axis], max_kernel);
    if (mode == "nearest") fits = fits && repeats(node, x.extents[axis], factors[axis]);
    extents.push_back(x.extents[axis] * factors[axis]);
  }
  if (mode == "linear") {
    upsample.between = Between::linear;
    fits = fits && (transformation == "half_pixel" || transformation == "pytorch_half_pixel");
  }
  if (!fits)
    importer.refuse(
        node,
        "interpolates by mode '{}' and coordinates '{}'; Mylos repeats points, or interpolates linearly "
        "between the centres of cells (half_pixel; align_corners = False)",
        printable(mode), printable(transformation));
  const std::size_t position = importer.chain.append({.kind = upsample}, x.position, "");
  importer.set(node, channels_first_value(position, std::move(extents), x.channels));
}

}  // namespace

const ImportTable& pool_operators() {
  static const ImportTable table{{"MaxPool", import_windows<kinds::MaxPool>},
                                 {"AveragePool", import_windows<kinds::AveragePool>},
                                 {"GlobalAveragePool", import_global},
                                 {"ReduceMean", import_mean},
                                 {"Resize", import_resize}};
  return table;
}

}  // namespace mylos
