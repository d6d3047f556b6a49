#include "mylos/model/chain/parts.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/numbers/divisors.hpp"
#include "mylos/model/block/layer_input.hpp"

namespace mylos {
namespace {

/// "conv, max_pool, ..."
template <class Traits, std::size_t count, class Fits>
std::string names_of(const std::array<Traits, count>& all, const Fits& fits) {
  std::vector<std::string_view> names;
  for (const Traits& traits : all) {
    if (fits(traits)) names.push_back(traits.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A vector is the same on all ranks of a sample.
bool is_vector(const GridShape& grid) {
  return grid.points() == 1;
}

}  // namespace

GridShape box_of(const GridShape& grid, std::size_t axes, const GridPart& part) {
  GridShape box = grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.is_split(axis)) continue;
    if (axis + axes < 3) {
      fail_input(
          errors::keys_conflict,
          "mesh.space divides {} axes, and the grid of a sample, {}, has {}; give a number for each of "
          "them, the first axis first",
          3 - axis, describe(grid), axes);
    }
    if (grid.extent[axis] % part.all_units(axis) != 0) {
      fail_input(errors::keys_conflict,
                 "mesh.space divides the {} points of samples in {} into {} boxes; equal ones are {}",
                 grid.extent[axis], axis_names[axis], part.boxes[axis],
                 alternatives_of(divisors_of(grid.extent[axis])));
    }
    box.extent[axis] = part.own_extent(axis, grid.extent[axis]);
  }
  return box;
}

void require_parts(const ModelOptions& model) {
  if (model.type == ModelType::mlp || model.type == ModelType::gpt) {
    fail_input(
        errors::keys_conflict,
        "mesh.space divides samples, and each layer of model.type = \"{}\" reads a sample as a whole; use "
        "a network on grids (\"unet\", \"fno\", \"cnn\", \"resnet\" or \"chain\"), or leave mesh.space out",
        name_of(model.type));
  }
  if (model.shape.size() < 2) {
    fail_input(errors::keys_conflict,
               "mesh.space divides the grids of samples, and a sample is a vector of {}; grids come from "
               "data.shape or from files that state the shape of a sample",
               model.inputs);
  }
}

void require_parts(const LayerOptions& layer, const LayerInput& input, const GridPart& part) {
  const LayerTraits& traits = traits_of(layer.kind);
  // A layer that makes a vector of a whole grid gathers it.
  const auto is_computed = [](const LayerTraits& of) { return of.takes_parts || of.gives_vector; };
  if (!is_computed(traits)) {
    fail_input(errors::keys_conflict,
               "mesh.space divides samples, and layer '{}' ({}) reads points of the whole grid, which other "
               "ranks hold; leave mesh.space out, or use layers of the kinds {}",
               input.layer, traits.name, names_of(layer_traits, is_computed));
  }
  if (part.sum_boxes() > 1 && traits.gives_vector) {
    fail_input(
        errors::not_reproducible,
        "mesh.sums takes the sums over points by boxes, of which this rank has several, and layer '{}' ({}) "
        "adds all points at once; divide samples by mesh.space as often as mesh.sums says, or leave it out",
        input.layer, traits.name);
  }
  if (layer.norm == NormType::batchnorm && (input.axes == 0 || traits.gives_vector)) {
    fail_input(
        errors::keys_conflict,
        "mesh.space divides samples, and layer '{}' has norm = \"batchnorm\" of a vector, which counts "
        "once for each box; use \"layernorm\" there",
        input.layer);
  }
}

void require_parts_of_loss(const ModelOptions& model) {
  const LossTraits& traits = traits_of(model.loss);
  if (traits.is_mean) return;
  fail_input(
      errors::keys_conflict,
      "mesh.space divides samples, and model.loss = \"{}\" of a sample is not the mean of those of its "
      "boxes; losses that are: {}",
      traits.name, names_of(loss_traits, [](const LossTraits& other) { return other.is_mean; }));
}

void require_tiles(const Chain& box, const Chain& whole, const GridPart& part) {
  std::size_t next = 0;
  for (std::size_t block = 0; block < box.grids.size(); ++block) {
    const bool is_gathered = box.stage_name(block) != whole.stage_name(next);  // not a block of the whole
    if (is_gathered) continue;
    const GridShape& of_box = box.grids[block];
    const GridShape& all = whole.grids[next++];
    if (of_box == all && is_vector(all)) continue;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool has_units = all.extent[axis] % part.all_units(axis) == 0;
      if (has_units && of_box.extent[axis] == part.own_extent(axis, all.extent[axis])) continue;
      fail_input(
          errors::bad_layer,
          "mesh.space divides samples, and layer '{}' makes {} points in {} of a whole sample, but {} of "
          "each of its {} boxes; use layers that keep the points of an axis or divide them without a "
          "rest, or divide another axis",
          box.blocks[block]->signature().name, all.extent[axis], axis_names[axis], of_box.extent[axis],
          part.boxes[axis]);
    }
  }
}

SampleExchangeSizes sample_exchanges(const Block& block, std::int64_t rows) {
  SampleExchangeSizes sizes;
  for (const bool is_backward : {false, true}) {  // what a variant recomputes repeats calls of forward
    for (const SampleCall& call : block.sample_calls(rows, {.is_backward = is_backward})) {
      if (call.is_sum) {
        sizes.sums = std::max(sizes.sums, call.bytes);
      } else {
        sizes.faces = std::max(sizes.faces, 2 * call.bytes);
      }
    }
  }
  return sizes;
}

SampleExchangeSizes sample_exchanges(const Chain& chain, std::int64_t rows) {
  SampleExchangeSizes sizes;
  for (const auto& block : chain.blocks) {
    const SampleExchangeSizes own = sample_exchanges(*block, rows);
    sizes.faces = std::max(sizes.faces, own.faces);
    sizes.sums = std::max(sizes.sums, own.sums);
  }
  return sizes;
}

}  // namespace mylos
