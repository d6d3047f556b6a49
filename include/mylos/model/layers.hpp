// [[model.layers]]: the layers of a network that the deck lists one by one (model.type = "chain").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/kernels/options.hpp"

namespace mylos {

enum class NormType { none, layernorm, rmsnorm, groupnorm, batchnorm };  // the last two: of chains

[[nodiscard]] constexpr std::string_view name_of(NormType type) {
  constexpr std::string_view names[] = {"none", "layernorm", "rmsnorm", "groupnorm", "batchnorm"};
  return names[static_cast<std::size_t>(type)];
}

enum class LayerKind {
  dense,
  conv,
  max_pool,
  average_pool,
  global_pool,
  upsample,
  norm,
  activation,
  add,
  concat,
  branch
};

/// What lies beyond a grid's edges.
enum class Padding { zero, periodic, reflect };

[[nodiscard]] constexpr std::string_view name_of(LayerKind kind) {
  constexpr std::string_view names[] = {"dense",       "conv",     "max_pool", "average_pool",
                                        "global_pool", "upsample", "norm",     "activation",
                                        "add",         "concat",   "branch"};
  return names[static_cast<std::size_t>(kind)];
}

/// Along each axis of the grid; one number stands for all axes, none for the default.
using PerAxis = std::vector<std::int64_t>;

/// Which samples batch normalisation takes together.
enum class NormOver { micro_batch, ranks };

/// How `upsample` finds what lies between points.
enum class Between { nearest, linear };

/// A layer computes in this order: what its kind says, `norm`, `activation`, `dropout`.
struct LayerOptions {
  LayerKind kind = LayerKind::dense;
  std::string name = {};     // empty: the kind and the layer's number from 1 on, "conv2"
  std::int64_t outputs = 0;  // dense: units, 0: as many as the data want; conv: channels
  bool bias = true;          // dense, conv
  PerAxis kernel = {};       // conv: default 1; pools: windows, default 2
  PerAxis stride = {};       // conv: default 1; pools: default the kernel
  PerAxis padding = {};      // points on both sides; conv: default (kernel - 1) · dilation / 2; pools: 0
  PerAxis dilation = {};     // conv: default 1
  Padding edges = Padding::zero;
  std::int64_t groups = 1;  // conv
  bool transposed = false;  // conv
  PerAxis factor = {};      // upsample: default 2
  Between between = Between::nearest;
  NormType norm = NormType::none;
  std::int64_t norm_groups = 8;                // groupnorm
  NormOver norm_over = NormOver::micro_batch;  // batchnorm
  double norm_momentum = 0.1;                  // batchnorm: the new part of running statistics
  Activation activation = Activation::none;
  double dropout = 0;
  std::string skip_from = {};  // add, concat, branch: the layer whose output is read; "input": the net's
  std::int64_t repeat = 1;     // so many of this layer, one after the other: "conv2.1", "conv2.2"

  bool operator==(const LayerOptions&) const = default;
};

/// The name by which layer `index` of the deck is known: its own, or its kind and number, "conv2".
[[nodiscard]] inline std::string layer_name(const std::vector<LayerOptions>& layers, std::size_t index) {
  const LayerOptions& layer = layers[index];
  return layer.name.empty() ? std::string(name_of(layer.kind)) + std::to_string(index + 1) : layer.name;
}

/// Whether the layer's `outputs` are the data's: a last dense layer that does not say them itself.
[[nodiscard]] inline bool takes_outputs_of_data(const std::vector<LayerOptions>& layers, std::size_t index) {
  const LayerOptions& layer = layers[index];
  return index + 1 == layers.size() && layer.kind == LayerKind::dense && layer.outputs == 0;
}

}  // namespace mylos
