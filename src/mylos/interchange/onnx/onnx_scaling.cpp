#include "mylos/interchange/onnx/onnx_scaling.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"

namespace mylos {
namespace {

/// Adds numbers of a scaling, one per column, as constants: one per channel where all points have the same.
class ScalingNumbers {
 public:
  ScalingNumbers(OnnxBuilder& graph, const OnnxBoundary& of, const std::string& path)
      : graph_(graph), path_(path), channels_(static_cast<std::size_t>(of.grid().channels)) {
    dims_ = of.extents();
    dims_.push_back(of.grid().channels);
  }

  std::string add(const std::string& name, std::vector<float> values) const {
    for (const float value : values) {
      if (std::isfinite(value)) continue;
      fail_input(errors::not_finite,
                 "{}: the {} of the data are beyond float, in which a graph scales; scale the data before "
                 "training",
                 path_, name);
    }
    OnnxNumbers dims = dims_;
    if (is_periodic(values)) {
      values.resize(channels_);
      dims = {dims.back()};
    }
    return graph_.numbers(name, OnnxType::float32, dims, values);
  }

 private:
  [[nodiscard]] bool is_periodic(const std::vector<float>& values) const {
    return std::equal(values.begin() + static_cast<std::ptrdiff_t>(channels_), values.end(), values.begin());
  }

  OnnxBuilder& graph_;
  const std::string& path_;
  std::size_t channels_;
  OnnxNumbers dims_;
};

std::vector<float> floats(const std::vector<double>& values) {
  std::vector<float> rounded;
  for (const double value : values) rounded.push_back(static_cast<float>(value));
  return rounded;
}

/// Returns what rounding to float took from the values.
std::vector<float> remainders(const std::vector<double>& values) {
  std::vector<float> rest;
  for (const double value : values)
    rest.push_back(static_cast<float>(value - static_cast<double>(static_cast<float>(value))));
  return rest;
}

/// Returns the deviations of the targets, by which training divided them.
std::vector<float> deviations_of(const ColumnScaling& scaling) {
  std::vector<float> deviations;
  for (const double scale : scaling.scale) deviations.push_back(static_cast<float>(1 / scale));
  return deviations;
}

bool has_nonzero(const std::vector<float>& values) {
  return std::any_of(values.begin(), values.end(), [](float value) { return value != 0; });
}

}  // namespace

OnnxBoundary onnx_scaled(OnnxBuilder& graph, const ColumnScaling& scaling, OnnxBoundary x,
                         const std::string& path) {
  if (scaling.identity()) return x;
  graph.begin_layer("scaled_inputs");
  const ScalingNumbers numbers(graph, x, path);
  const OnnxLayout layout = OnnxLayout::points;
  std::string value = graph.node("Sub", {x.in(layout, graph), numbers.add("shift", floats(scaling.shift))});
  if (const std::vector<float> rest = remainders(scaling.shift); has_nonzero(rest))
    value = graph.node("Sub", {value, numbers.add("shift_remainder", rest)});
  value = graph.node("Mul", {value, numbers.add("scale", floats(scaling.scale))});
  graph.begin_layer("");
  return x.with(OnnxType::float32, layout, value);
}

OnnxBoundary onnx_unscaled(OnnxBuilder& graph, const ColumnScaling& scaling, OnnxBoundary y,
                           const std::string& path) {
  if (scaling.identity()) return y;
  graph.begin_layer("unscaled_outputs");
  const ScalingNumbers numbers(graph, y, path);
  const OnnxLayout layout = OnnxLayout::points;
  const std::string product =
      graph.node("Mul", {y.in(layout, graph), numbers.add("deviation", deviations_of(scaling))});
  const std::string value = graph.node("Add", {product, numbers.add("shift", floats(scaling.shift))});
  graph.begin_layer("");
  return y.with(OnnxType::float32, layout, value);
}

OnnxBoundary onnx_deviations(OnnxBuilder& graph, const ColumnScaling& scaling, OnnxBoundary s,
                             const std::string& path) {
  graph.begin_layer("standard_deviation");
  const OnnxLayout layout = OnnxLayout::points;
  const std::string half = graph.node("Mul", {s.in(layout, graph), graph.scalar(0.5f, OnnxType::float32)});
  std::string value = graph.node("Exp", {half});
  if (!scaling.identity()) {
    const ScalingNumbers numbers(graph, s, path);
    value = graph.node("Mul", {value, numbers.add("deviation", deviations_of(scaling))});
  }
  graph.begin_layer("");
  return s.with(OnnxType::float32, layout, value);
}

}  // namespace mylos
