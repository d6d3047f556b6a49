// [[model.layers]]: the layers of a network that the deck lists individually (model.type = "chain").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mylos/kernels/options.hpp"
#include "mylos/model/layers/activation.hpp"
#include "mylos/model/layers/attention.hpp"
#include "mylos/model/layers/branch.hpp"
#include "mylos/model/layers/conserve.hpp"
#include "mylos/model/layers/conv.hpp"
#include "mylos/model/layers/coordinates.hpp"
#include "mylos/model/layers/custom.hpp"
#include "mylos/model/layers/dense.hpp"
#include "mylos/model/layers/join.hpp"
#include "mylos/model/layers/margins.hpp"
#include "mylos/model/layers/norm.hpp"
#include "mylos/model/layers/pool.hpp"
#include "mylos/model/layers/spectral.hpp"
#include "mylos/model/layers/upsample.hpp"

namespace mylos {

/// The normalisation after a layer.
enum class NormType { none, layernorm, rmsnorm, groupnorm, batchnorm };  // the last two: chains only

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(NormType type) {
  constexpr std::string_view names[] = {"none", "layernorm", "rmsnorm", "groupnorm", "batchnorm"};
  return names[static_cast<std::size_t>(type)];
}

/// The kinds of layers, in the order of the manual. Each has a header in include/mylos/model/layers, and its
/// code in src/mylos/model/layers.
using LayerKind =
    std::variant<kinds::Dense, kinds::Conv, kinds::Spectral, kinds::MaxPool, kinds::AveragePool,
                 kinds::GlobalPool, kinds::Upsample, kinds::Norm, kinds::Activation, kinds::Add,
                 kinds::Concat, kinds::Branch, kinds::Attention, kinds::Positions, kinds::Coordinates,
                 kinds::Pad, kinds::Crop, kinds::Conserve, kinds::ZeroSum, kinds::Custom>;

/// A row for each kind, in the order of LayerKind.
inline constexpr auto layer_traits = traits_of_kinds(static_cast<const LayerKind*>(nullptr));

[[nodiscard]] constexpr const LayerTraits& traits_of(const LayerKind& kind) {
  return layer_traits[kind.index()];
}

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(const LayerKind& kind) {
  return traits_of(kind).name;
}

/// The samples over which batch normalisation computes its statistics.
enum class NormOver { micro_batch, ranks };

class CustomLayer;
/// The layers of a program (custom_layer.hpp).
using CustomLayers = std::vector<std::shared_ptr<const CustomLayer>>;

/// The options of one layer. A layer applies its kind's operation, then `norm`, `activation` and `dropout`.
struct LayerOptions {
  LayerKind kind = kinds::Dense{};  // what the layer computes, with the options of its kind
  std::string name = {};            // empty: the kind and the layer's number, counted from 1: "conv2"
  std::int64_t outputs = 0;  // units or channels; of a last dense layer 0: the number that the data require
  NormType norm = NormType::none;              // of the result
  std::int64_t norm_groups = 8;                // groupnorm
  NormOver norm_over = NormOver::micro_batch;  // batchnorm
  double norm_momentum = 0.1;                  // batchnorm: weight of the new value in the running statistics
  Activation activation = Activation::none;    // after the norm
  double dropout = 0;                          // probability in [0, 1)
  std::string skip_from =
      {};                   // add, concat, branch, conserve: the layer to read; "input": the network's input
  std::int64_t repeat = 1;  // copies of this layer in sequence: "conv2.1", "conv2.2"

  bool operator==(const LayerOptions&) const = default;
};

/// Returns the name of layer `index` of the deck: the given name, or its kind and number, "conv2".
[[nodiscard]] inline std::string layer_name(const std::vector<LayerOptions>& layers, std::size_t index) {
  const LayerOptions& layer = layers[index];
  return layer.name.empty() ? std::string(name_of(layer.kind)) + std::to_string(index + 1) : layer.name;
}

/// Returns whether the data determine the layer's `outputs`: true for a last dense layer without `outputs`.
[[nodiscard]] inline bool takes_outputs_of_data(const std::vector<LayerOptions>& layers, std::size_t index) {
  const LayerOptions& layer = layers[index];
  const LayerTraits& traits = traits_of(layer.kind);
  return index + 1 == layers.size() && traits.computes_outputs && traits.gives_vector && layer.outputs == 0;
}

}  // namespace mylos
