// OnnxBuilder: appends nodes and constants to an OnnxGraph and gives them unique names.
//
// Names begin with the layer's name, as a viewer of graphs shows it: "conv1/Conv", "conv1/weight".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mylos/model/onnx/onnx_graph.hpp"

namespace mylos {

/// The opsets that are written: 13 is the first in which axes are inputs; later ones than 21 were not tried.
inline constexpr std::int64_t min_onnx_opset = 13;
inline constexpr std::int64_t max_onnx_opset = 21;
inline constexpr std::int64_t default_onnx_opset = 17;

class OnnxBuilder {
 public:
  explicit OnnxBuilder(std::int64_t opset) { graph_.opset = opset; }

  [[nodiscard]] std::int64_t opset() const { return graph_.opset; }
  [[nodiscard]] OnnxGraph& graph() { return graph_; }

  /// Names of what follows begin with this; "" for what belongs to no layer.
  void begin_layer(std::string name) { layer_ = std::move(name); }

  /// Throws Error (bad_input), which names the layer and the opset, if the graph's opset is lower.
  void require_opset(std::int64_t needed, const char* op) const;

  /// Appends a node and returns the name of its output.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   std::vector<OnnxAttribute> attributes = {});

  /// Adds a constant of float32 or float16 numbers, rounded to nearest, and returns its name. Throws Error
  /// (bad_input) if a finite number becomes infinite.
  std::string numbers(const std::string& name, OnnxType type, const OnnxNumbers& dims,
                      std::span<const float> values);
  /// Returns the float32 constant of this key, which must state all that its numbers depend on; adds it with
  /// the numbers of `make` if there is none. It belongs to no layer.
  std::string shared_numbers(const std::string& key, const std::string& name, const OnnxNumbers& dims,
                             const std::function<std::vector<float>()>& make);
  /// Returns a constant of one number without dimensions.
  std::string scalar(float value, OnnxType type);
  /// Returns a constant vector of integers: shapes, axes, indices.
  std::string integers(const OnnxNumbers& values);
  std::string integer(std::int64_t value);

  /// Returns the value in the type `to`.
  std::string cast(const std::string& value, OnnxType from, OnnxType to);
  std::string reshape(const std::string& value, const OnnxNumbers& shape);
  std::string transpose(const std::string& value, const OnnxNumbers& permutation);
  /// Returns the part [begin, end) of an axis; INT64_MAX: to its end.
  std::string slice(const std::string& value, std::int64_t axis, std::int64_t begin, std::int64_t end);
  /// Returns the part [end - count, end) of an axis, the last element first.
  std::string reversed(const std::string& value, std::int64_t axis, std::int64_t end, std::int64_t count);
  /// Extends each axis, as Pad does in the mode "constant" (zeros) or "reflect"; the lists have an entry per
  /// axis.
  std::string pad(const std::string& value, OnnxType type, const char* mode, const OnnxNumbers& before,
                  const OnnxNumbers& after);
  /// Returns the mean over axes, which stay with one element.
  std::string mean(const std::string& value, const OnnxNumbers& axes);

 private:
  [[nodiscard]] std::string unique(const std::string& name);
  /// Returns the constant of this type, shape and bytes; adds it if there is none.
  std::string shared(OnnxType type, OnnxNumbers dims, std::string bytes);

  OnnxGraph graph_;
  std::string layer_;
  std::set<std::string> names_;
  std::map<std::string, std::string> shared_;  // name by content
  std::map<std::string, std::string> keyed_;   // name by key
};

}  // namespace mylos
