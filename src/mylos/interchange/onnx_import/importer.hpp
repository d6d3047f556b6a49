// Importer: the nodes of a foreign graph as layers of a chain. Each operator has a function, in a file for
// its kind: linear, convolutions, pools, norms, joins, shapes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/interchange/onnx/foreign_graph.hpp"
#include "mylos/interchange/onnx_import/file_value.hpp"
#include "mylos/interchange/onnx_import/graph/node_error.hpp"
#include "mylos/interchange/onnx_import/imported_chain.hpp"

namespace mylos {

/// A part of a value along one axis of its grid, which the concatenation of periodic edges reads.
struct GridSlice {
  std::string of;
  std::size_t axis = 0;  // of the file's shape without the batch
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class Importer {
 public:
  /// `graph`: in order, with its constants folded and its functions found.
  explicit Importer(const ForeignGraph& graph);

  /// Adds the layers of all nodes.
  void run();
  /// Returns the output of the graph. Throws Error (bad_input) if no chain of ours ends in it.
  [[nodiscard]] FileValue output() const;

  const ForeignGraph& graph;
  ImportedChain chain;
  std::optional<Affine> input_scaling;  // once a layer read the input
  FileValue network_input;
  std::vector<double> deviations;  // by which the network multiplies its standard deviations

  // For the functions of operators.

  /// Returns an input as the file has it, with what nodes between layers did to it.
  [[nodiscard]] FileValue value(const ForeignNode& node, std::size_t i);
  /// Returns an input that a layer reads: multiplications and additions of constants became weights or the
  /// scaling of the network's input. Throws Error (bad_input) if they cannot.
  [[nodiscard]] FileValue layer_input(const ForeignNode& node, std::size_t i);
  /// The same for a convolution, which can have edges.
  [[nodiscard]] FileValue edged_input(const ForeignNode& node, std::size_t i);
  /// The same for a matrix, which takes up an affine map that no earlier layer can.
  [[nodiscard]] FileValue matrix_input(const ForeignNode& node, std::size_t i);
  /// Returns a constant, or null if the input is computed or left out.
  [[nodiscard]] const ForeignTensor* constant(const ForeignNode& node, std::size_t i) const;
  /// Returns a constant of real numbers of this shape ("weight", for the message).
  [[nodiscard]] const std::vector<float>& numbers(const ForeignNode& node, std::size_t i,
                                                  const OnnxNumbers& dims, const char* what) const;
  /// Returns a constant of integers, or the attribute that older opsets have; nothing if there is neither.
  [[nodiscard]] std::optional<OnnxNumbers> integers(const ForeignNode& node, std::size_t i,
                                                    const char* attribute) const;
  [[nodiscard]] const GridSlice* part(const ForeignNode& node, std::size_t i) const;
  /// Returns the axis of the file's shape without the batch.
  [[nodiscard]] std::size_t axis_of(const ForeignNode& node, std::int64_t axis, const FileValue& value) const;

  /// Returns a value as the file has it; null if nothing has computed it.
  [[nodiscard]] const FileValue* find(const std::string& name) const;
  /// Adds another form of a value, read as often, or of a constant.
  void set_copy(const std::string& of, const std::string& name, FileValue value);
  void set_constant(const std::string& name, ForeignTensor constant);

  void set(const ForeignNode& node, FileValue value);
  void set(const ForeignNode& node, ForeignTensor constant);
  void set(const ForeignNode& node, GridSlice part);

  /// Adds a norm or an activation to the layer before it, if nothing else reads its output, or as a layer.
  /// Returns the boundary.
  std::size_t append_norm(const FileValue& x, const LayerOptions& norm, const std::string& name);
  std::size_t append_activation(const FileValue& x, Activation activation);

  template <class... Arguments>
  [[noreturn]] void refuse(const ForeignNode& node, fmt::format_string<Arguments...> format,
                           Arguments&&... of) const {
    refuse_node(graph, node, format, std::forward<Arguments>(of)...);
  }

 private:
  void require_numbers(const ForeignNode& node, FileValue& value);
  void resolve(const ForeignNode& node, FileValue& value);
  [[nodiscard]] bool fold_back(FileValue& value);
  [[nodiscard]] bool fold_constants(const ForeignNode& node);

  std::map<std::string, int> uses_;
  std::map<std::string, FileValue> values_;
  std::map<std::string, ForeignTensor> computed_;  // constants that depend on shapes
  std::map<std::string, GridSlice> parts_;
};

using ImportNode = void (*)(Importer&, const ForeignNode&);
using ImportTable = std::map<std::string_view, ImportNode>;

// The operators of each kind.
[[nodiscard]] const ImportTable& linear_operators();
[[nodiscard]] const ImportTable& convolution_operators();
[[nodiscard]] const ImportTable& pool_operators();
[[nodiscard]] const ImportTable& norm_operators();
[[nodiscard]] const ImportTable& join_operators();
[[nodiscard]] const ImportTable& shape_operators();

/// Returns the value of a graph's input: whether it is a vector or a grid, and which axis has the channels,
/// as the operators that read it require.
[[nodiscard]] FileValue input_value(const ForeignGraph& graph);

/// Appends Add, Sub, Mul or Div of a value and constants; false if neither operand is constant.
[[nodiscard]] bool import_affine(Importer& importer, const ForeignNode& node);

}  // namespace mylos
