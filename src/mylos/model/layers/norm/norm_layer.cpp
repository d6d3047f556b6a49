#include "mylos/model/layers/norm/norm_layer.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/kernels/norm/group_norm.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/layers/norm/batch_norm_block.hpp"
#include "mylos/model/layers/norm/group_norm_block.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"

namespace mylos {
namespace {

/// Requires that 'norm_groups' divides the channels.
void require_groups(const LayerInput& input, std::int64_t groups) {
  try {
    check_group_norm(input.grid, groups);
  } catch (const Error& error) {
    fail_input(errors::bad_layer, "model.layers: layer '{}' cannot normalise {} with 'norm_groups' = {}: {}",
               input.layer, describe(input.grid), groups, error.message());
  }
}

std::unique_ptr<Block> batch_norm(const LayerOptions& layer, const std::string& name, const GridShape& grid,
                                  const GridPart& part, const BlockTypes& types) {
  BatchNormOptions options;
  types.set(options, name, "batchnorm");
  options.grid = grid;
  options.momentum = static_cast<float>(layer.norm_momentum);
  options.over_ranks = layer.norm_over == NormOver::ranks;
  options.over_boxes = part.is_split();
  if (is_fused_with_norm(layer)) options.activation = layer.activation;
  return std::make_unique<BatchNormBlock>(std::move(options));
}

std::unique_ptr<Block> group_norm(const LayerOptions& layer, const std::string& name, const LayerInput& input,
                                  const GridPart& part, const BlockTypes& types) {
  GroupNormOptions options;
  types.set(options, name, "groupnorm");
  options.grid = input.grid;
  options.groups = layer.norm_groups;
  if (input.axes > 0) options.part = part;
  require_groups(input, options.groups);
  return std::make_unique<GroupNormBlock>(std::move(options));
}

std::unique_ptr<Block> norm_of_points(NormType norm, const std::string& name, const GridShape& grid,
                                      const GridPart& part, const BlockTypes& types) {
  NormOptions options;
  types.set(options, name, kind_of(norm));
  options.norm = {.type = norm, .width = grid.channels};
  options.extents = grid.extent;
  options.part = part;
  return std::make_unique<NormBlock>(std::move(options));
}

std::unique_ptr<Block> norm_of(const LayerOptions& layer, const std::string& name, const LayerInput& input,
                               const GridPart& part, const BlockTypes& types) {
  if (layer.norm == NormType::batchnorm) return batch_norm(layer, name, input.grid, part, types);
  if (layer.norm == NormType::groupnorm) return group_norm(layer, name, input, part, types);
  return norm_of_points(layer.norm, name, input.grid, part, types);
}

}  // namespace

void append_norm(GrowingChain& network, const LayerOptions& layer) {
  const std::string name =
      std::holds_alternative<kinds::Norm>(layer.kind) ? network.name() : network.name() + ".norm";
  const LayerInput input = network.input();
  network.append(norm_of(layer, name, input, network.model().part, network.types()), input.grid);
}

void kinds::Norm::append_to(GrowingChain& network, const LayerOptions& layer) const {
  if (layer.norm == NormType::none) network.refuse(errors::missing_key, "needs a 'norm'");
}

}  // namespace mylos
