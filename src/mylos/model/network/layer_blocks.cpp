#include "mylos/model/network/layer_blocks.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/grid/batch_norm_block.hpp"
#include "mylos/model/grid/coordinates_block.hpp"
#include "mylos/model/grid/gated_add.hpp"
#include "mylos/model/grid/group_norm_block.hpp"
#include "mylos/model/grid/margin_block.hpp"
#include "mylos/model/layers/norm_block.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
DType BlockTypes::compute(std::string_view name, std::string_view kind) const {
  return compute_type(precision, name, kind);
}

DType BlockTypes::gradient(DType type) const {
  return gradient_type(precision.gradient, type, accumulates);
}

std::unique_ptr<Block> make_join(const LayerOptions& layer, JoinType join, const LayerInput& input,
                                 const JoinSource& from, const BlockTypes& types) {
  if (from.grid.extent != input.grid.extent || (join == JoinType::add && from.grid != input.grid)) {
    fail_input(errors::bad_layer,
               "model.layers: layer '{}' reads '{}', which gives {}, and its input has {}; {}", input.layer,
               layer.skip_from, describe(from.grid), describe(input.grid),
               join == JoinType::add ? "an addition needs the same" : "both need the same points");
  }
  if (layer.gated && join == JoinType::add) {
    GatedAddOptions options;
    types.set(options, input.layer, name_of(layer.kind));
    options.grid = input.grid;
    options.skip_type = from.type;
    return std::make_unique<GatedAdd>(std::move(options));
  }
  const DType type = types.compute(input.layer, name_of(layer.kind));
  return std::make_unique<Join>(JoinOptions{.name = input.layer,
                                            .join = join,
                                            .skip_first = layer.skip_first,
                                            .points = input.grid.points(),
                                            .channels = input.grid.channels,
                                            .skip_channels = from.grid.channels,
                                            .input_type = types.input_of(type),
                                            .skip_type = from.type,
                                            .type = type});
}

std::unique_ptr<Block> make_layer_norm(const LayerOptions& layer, const std::string& name,
                                       const LayerInput& input, const BlockTypes& types) {
  if (layer.norm == NormType::batchnorm) {
    BatchNormOptions options;
    types.set(options, name, "batchnorm");
    options.grid = input.grid;
    options.momentum = static_cast<float>(layer.norm_momentum);
    options.over_ranks = layer.norm_over == NormOver::ranks;
    if (is_fused_with_norm(layer)) options.activation = layer.activation;
    return std::make_unique<BatchNormBlock>(std::move(options));
  }
  if (layer.norm == NormType::groupnorm) {
    GroupNormOptions options;
    types.set(options, name, "groupnorm");
    options.grid = input.grid;
    options.groups = layer.norm_groups;
    require_groups(input, options.groups);
    return std::make_unique<GroupNormBlock>(std::move(options));
  }
  NormOptions options;
  types.set(options, name, kind_of(layer.norm));
  options.norm = {.type = layer.norm, .width = input.grid.channels};
  options.points = input.grid.points();
  return std::make_unique<NormBlock>(std::move(options));
}

std::unique_ptr<Block> make_margins(LayerKind kind, const MarginShape& shape, const LayerInput& input,
                                    const BlockTypes& types, GridShape& grid) {
  auto block = std::make_unique<MarginBlock>(
      MarginOptions{.name = input.layer,
                    .change = kind == LayerKind::pad ? MarginChange::pad : MarginChange::crop,
                    .shape = shape,
                    .type = types.without_weights(input.layer, name_of(kind))});
  grid = block->output();
  return block;
}

std::unique_ptr<Block> make_coordinates(const LayerInput& input, const BlockTypes& types, GridShape& grid) {
  if (input.axes == 0) {
    fail_input(errors::bad_layer,
               "model.layers: layer '{}' appends coordinates to a grid, but its input is a vector of {}",
               input.layer, input.grid.channels);
  }
  auto block = std::make_unique<CoordinatesBlock>(
      CoordinatesOptions{.name = input.layer,
                         .grid = input.grid,
                         .axes = input.axes,
                         .type = types.without_weights(input.layer, "coordinates")});
  grid = block->output();
  return block;
}

}  // namespace mylos
