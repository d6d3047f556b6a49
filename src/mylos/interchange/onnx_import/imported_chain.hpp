// ImportedChain: the layers of a network and their weights, in our layout, while the nodes of a foreign graph
// are added one after the other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "mylos/interchange/onnx_import/file_value.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

using NumberedWeights = std::map<std::string, std::vector<float>>;  // by our path, "conv1/weight"

class ImportedChain {
 public:
  /// Appends a layer that reads the boundary `from`, after a branch if that is not the last layer's output.
  /// `name`: what the file calls it, or a weight of it; "": nothing. Returns the new boundary.
  std::size_t append(LayerOptions layer, std::size_t from, const std::string& name);

  /// Appends a layer that reads the boundaries `a` and `b`; `make` returns it, given whether the last layer's
  /// output is `b`, so that `a` is the skip. Returns the new boundary.
  template <class Make>
  std::size_t append_join(std::size_t a, std::size_t b, const std::string& name, const Make& make) {
    const bool reads_b = b == last();
    LayerOptions layer = make(reads_b);
    layer.skip_from = name_of(reads_b ? a : b);
    return append(std::move(layer), reads_b ? b : a, name);
  }

  /// Returns the boundary after the last layer.
  [[nodiscard]] std::size_t last() const { return layers_.size(); }
  /// Return the layer that ends in a boundary other than the input.
  [[nodiscard]] LayerOptions& layer(std::size_t boundary) { return layers_[boundary - 1]; }
  [[nodiscard]] const std::vector<LayerOptions>& layers() const { return layers_; }
  /// Returns the name by which 'skip_from' reads a boundary.
  [[nodiscard]] std::string name_of(std::size_t boundary) const;
  /// Returns the path of the weights of a layer's norm, "conv1.norm", or of a layer of kind norm, "norm2".
  [[nodiscard]] std::string norm_path(std::size_t boundary) const;

  NumberedWeights weights;

 private:
  [[nodiscard]] std::string unique_name(const LayerOptions& layer, const std::string& hint);

  std::vector<LayerOptions> layers_;
  std::set<std::string> names_{"input", "residual", "nonnegative", "loss"};
};

/// Returns a name for a layer from the name of a weight or node: "/encoder/0/Conv" gives "encoder_0", and
/// "net.0.weight" gives "net_0"; "" for names that say nothing, such as "onnx::MatMul_12" or "val_3".
[[nodiscard]] std::string layer_name_of(std::string name);

/// Multiplies the outputs of the layer that ends in `boundary`, and adds to them, by its weights: numbers per
/// channel. Returns false if its weights cannot.
[[nodiscard]] bool fold(ImportedChain& chain, std::size_t boundary, const std::vector<double>& scale,
                        const std::vector<double>& shift);

}  // namespace mylos
