#include "mylos/inference/divided_network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/data/files/scaling/normalizer_of_box.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/network/grid_units.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// Boxes are written where their inputs lie.
void require_same_points(const StoredNetwork& network, const Chain& chain, const GridBox& box) {
  if (gives_vector(network)) return;
  const bool is_on_grid = !chain.grids.empty() && chain.grids.back().extent == box.count;
  if (is_on_grid && network.chain.outputs() % box.grid_points() == 0) return;
  fail_input(errors::keys_conflict,
             "mesh.space divides samples whose outputs lie on the points of their inputs, and those of {} "
             "are {} numbers on other points; leave --space out",
             network.path, network.chain.outputs());
}

/// Any loss of numbers leaves the last layer's outputs as they are.
void leave_loss_out(ModelOptions& model) {
  const LossTraits& traits = traits_of(model.loss);
  if (traits.is_mean || traits.prediction != Prediction::numbers) return;
  model.loss = losses::Mse{};
  model.point_weights = nullptr;
}

DividedNetwork divide(const StoredNetwork& network, MeshOptions mesh, const RankGroup& ranks,
                      bool computes_loss) {
  ModelOptions model = network.options.model;
  require_parts(model);
  if (!computes_loss) leave_loss_out(model);
  if (mesh.space.size() + 1 != model.shape.size()) {
    fail_input(errors::keys_conflict,
               "has {} numbers, and the grid of the samples has {} axes; give one number per axis",
               mesh.space.size(), model.shape.size() - 1);
  }
  mesh.units = grid_units(model, network.options.precision, mesh.space);
  const Mesh own(mesh, ranks.rank(), ranks.size());
  model.part = own.part();
  DividedNetwork divided{own, make_chain(model, network.options.precision, network.options.run.seed, false)};
  require_same_points(network, divided.chain, divided.box(network));
  return divided;
}

}  // namespace

GridBox DividedNetwork::box(const StoredNetwork& whole) const {
  return box_of_samples(whole, mesh.part());
}

bool gives_vector(const StoredNetwork& network) {
  const std::vector<GridShape>& grids = network.chain.grids;
  return grids.empty() || grids.back().points() == 1;
}

bool divides(const MeshOptions& mesh) {
  return std::ranges::any_of(mesh.space, [](std::int64_t boxes) { return boxes > 1; });
}

DividedNetwork divide_network(const StoredNetwork& network, const MeshOptions& mesh, const RankGroup& ranks,
                              bool computes_loss) {
  try {
    return divide(network, mesh, ranks, computes_loss);
  } catch (const Error& error) {
    throw error.with(fmt::format("{}: {}", text_of_space(mesh), error.message()));
  }
}

std::vector<std::int64_t> extents_of_samples(const StoredNetwork& network) {
  std::vector<std::int64_t> extents = network.options.model.shape;
  if (!extents.empty()) extents.pop_back();
  return extents;
}

GridBox box_of_samples(const StoredNetwork& network, const GridPart& part) {
  return box_of(part, extents_of_samples(network), network.path);
}

Normalizer normalizer_of(const StoredNetwork& network, const GridPart& part) {
  return part_of(network.training.normalizer, network.options.model.shape, part, gives_vector(network));
}

std::string text_of_space(const MeshOptions& mesh) {
  return fmt::format("--space {}", fmt::join(mesh.space, ","));
}

}  // namespace mylos
