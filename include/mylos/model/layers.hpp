// [[model.layers]]: the layers of a network that the deck lists individually (model.type = "chain").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/kernels/options.hpp"

namespace mylos {

/// The normalisation after a layer.
enum class NormType { none, layernorm, rmsnorm, groupnorm, batchnorm };  // the last two: chains only

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(NormType type) {
  constexpr std::string_view names[] = {"none", "layernorm", "rmsnorm", "groupnorm", "batchnorm"};
  return names[static_cast<std::size_t>(type)];
}

/// What a layer computes; docs/how-to/networks.md and docs/reference/deck.md describe each kind.
enum class LayerKind {
  dense,
  conv,
  spectral,
  max_pool,
  average_pool,
  global_pool,
  upsample,
  norm,
  activation,
  add,
  concat,
  branch,
  coordinates,
  pad,
  crop,
  custom
};

/// What is known of a kind of layer from the deck alone.
struct LayerTraits {
  std::string_view name;          // in decks
  bool needs_grid = false;        // its input must be a grid; others read vectors too
  bool gives_vector = false;      // its output is a vector, whatever its input is
  bool computes_outputs = false;  // each from all channels, by weights; 'outputs' is their number
  bool fuses_activation = false;  // its block computes the activation too, if no norm lies between
  bool keeps_channels = false;    // each channel of the output comes from the channel of that number alone
  bool keeps_points = false;      // without strides, padding and even kernels
  bool has_windows = false;       // 'kernel' is a window: of 2 points by default, and so far apart
  bool refines = false;           // multiplies the points by 'factor'
  bool restarts = false;          // continues from the layer in 'skip_from', not from its input
};

/// A row for each kind, in the order of LayerKind.
inline constexpr LayerTraits layer_traits[] = {
    {.name = "dense", .gives_vector = true, .computes_outputs = true, .fuses_activation = true},
    {.name = "conv",
     .needs_grid = true,
     .computes_outputs = true,
     .fuses_activation = true,
     .keeps_points = true},
    {.name = "spectral", .needs_grid = true, .computes_outputs = true, .keeps_points = true},
    {.name = "max_pool", .needs_grid = true, .keeps_channels = true, .has_windows = true},
    {.name = "average_pool", .needs_grid = true, .keeps_channels = true, .has_windows = true},
    {.name = "global_pool", .needs_grid = true, .gives_vector = true, .keeps_channels = true},
    {.name = "upsample", .needs_grid = true, .keeps_channels = true, .refines = true},
    {.name = "norm", .keeps_points = true},
    {.name = "activation", .keeps_channels = true, .keeps_points = true},
    {.name = "add", .keeps_points = true},
    {.name = "concat", .keeps_points = true},
    {.name = "branch", .restarts = true},
    {.name = "coordinates", .needs_grid = true},
    {.name = "pad", .needs_grid = true, .keeps_channels = true},
    {.name = "crop", .needs_grid = true, .keeps_channels = true},
    {.name = "custom"}};

[[nodiscard]] constexpr const LayerTraits& traits_of(LayerKind kind) {
  return layer_traits[static_cast<std::size_t>(kind)];
}

/// The values of points outside the grid.
enum class Padding { zero, periodic, reflect };

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(LayerKind kind) {
  return traits_of(kind).name;
}

/// One value per axis of the grid. A single value applies to all axes; an empty list selects the default.
using PerAxis = std::vector<std::int64_t>;

/// The samples over which batch normalisation computes its statistics.
enum class NormOver { micro_batch, ranks };

/// The interpolation of `upsample` between points.
enum class Between { nearest, linear };

class CustomLayer;
/// The layers of a program (custom_layer.hpp).
using CustomLayers = std::vector<std::shared_ptr<const CustomLayer>>;

/// The options of one layer. A layer applies its kind's operation, then `norm`, `activation` and `dropout`.
struct LayerOptions {
  LayerKind kind = LayerKind::dense;  // what the layer computes
  std::string name = {};              // empty: the kind and the layer's number, counted from 1: "conv2"
  std::int64_t outputs = 0;  // dense: units, 0: the number that the data require; conv, spectral: channels
  bool bias = true;          // dense, conv, spectral
  PerAxis kernel = {};       // conv: default 1; pools: windows, default 2
  PerAxis stride = {};       // conv: default 1; pools: default `kernel`
  PerAxis padding = {};      // points on both sides; conv: default (kernel - 1) · dilation / 2; pools: 0
  PerAxis dilation = {};     // conv: default 1
  Padding edges = Padding::zero;               // conv: the values of points outside the grid
  std::int64_t groups = 1;                     // conv
  bool transposed = false;                     // conv
  PerAxis factor = {};                         // upsample: default 2
  PerAxis modes = {};                          // spectral: one number per axis, or one for all
  Between between = Between::nearest;          // upsample
  NormType norm = NormType::none;              // of the result
  std::int64_t norm_groups = 8;                // groupnorm
  NormOver norm_over = NormOver::micro_batch;  // batchnorm
  double norm_momentum = 0.1;                  // batchnorm: weight of the new value in the running statistics
  Activation activation = Activation::none;    // after the norm
  double dropout = 0;                          // probability in [0, 1)
  std::string skip_from = {};       // add, concat, branch: the layer to read; "input": the network's input
  bool skip_first = false;          // concat: the layer to read comes before the input, not after it
  bool gated = false;               // add: a trained factor for each channel of the layer to read
  std::vector<double> margin = {};  // pad: points at both ends per point of the grid, by axis; one: of all
  std::string like = {};            // crop: the layer whose grid the result has, centred; "input" as above
  std::string custom = {};          // custom: the layer's name in the program (CustomLayer::name())
  std::map<std::string, double> settings = {};  // custom: what the deck sets for it
  std::int64_t repeat = 1;                      // copies of this layer in sequence: "conv2.1", "conv2.2"

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
