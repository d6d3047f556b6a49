#include "mylos/inference/stored/other_grid.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// What the messages name.
struct Grids {
  const std::string& path;
  const std::vector<std::int64_t>& trained;
  const std::vector<std::int64_t>& given;
};

void require_same_axes(const Grids& grids) {
  if (grids.trained.size() < 2) {
    fail_input(errors::data_mismatch, "{}: reads vectors, not samples on a grid of {}", grids.path,
               text_of_shape(grids.given));
  }
  if (std::any_of(grids.given.begin(), grids.given.end(), [](std::int64_t extent) { return extent < 1; })) {
    fail_input(errors::data_mismatch,
               "{}: cannot read samples of {}: a grid has at least 1 point along each axis, and 1 channel",
               grids.path, text_of_shape(grids.given));
  }
  if (grids.trained.size() == grids.given.size() && grids.trained.back() == grids.given.back()) return;
  fail_input(errors::data_mismatch,
             "{}: cannot read samples of {}: it was trained on samples of {}, and another grid must have the "
             "same number of axes and channels",
             grids.path, text_of_shape(grids.given), text_of_shape(grids.trained));
}

/// `seed`: of dropout masks.
Chain chain_on_grid(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                    const Grids& grids) {
  try {
    return make_chain(model, precision, seed, false);
  } catch (const Error& error) {
    throw error.with(fmt::format("{}: was trained on samples of {} and cannot read samples of {}: {}",
                                 grids.path, text_of_shape(grids.trained), text_of_shape(grids.given),
                                 error.message()));
  }
}

bool has_same_sizes(const ParameterSpec& a, const ParameterSpec& b) {
  return a.name == b.name && a.rows == b.rows && a.columns == b.columns;
}

/// Throws Error unless each layer has the same weights on both grids.
void require_same_weights(const Chain& trained, const Chain& other, const Grids& grids) {
  for (std::size_t stage = 0; stage <= trained.blocks.size(); ++stage) {
    const std::vector<ParameterSpec> before = trained.stage_parameters(stage);
    const std::vector<ParameterSpec> after = other.stage_parameters(stage);
    if (std::equal(before.begin(), before.end(), after.begin(), after.end(), has_same_sizes)) continue;
    fail_input(errors::data_mismatch,
               "{}: cannot read samples of {}: layer '{}' ({}) has a weight for each point of its grid, so "
               "that the network needs samples of {}, those that it was trained on",
               grids.path, text_of_shape(grids.given), trained.stage_name(stage),
               trained.signature(stage).kind, text_of_shape(grids.trained));
  }
}

/// Returns the scaling of `columns` columns, by channel.
ColumnScaling scaling_on_grid(const ColumnScaling& trained, std::int64_t channels, std::int64_t columns,
                              const char* what, const Grids& grids) {
  if (trained.identity()) return trained;
  const auto count = static_cast<std::size_t>(channels);
  ColumnScaling scaling;
  for (std::size_t i = 0; i < trained.shift.size(); ++i) {
    if (trained.shift[i] == trained.shift[i % count] && trained.scale[i] == trained.scale[i % count])
      continue;
    fail_input(
        errors::data_mismatch,
        "{}: cannot read samples of {}: its {} were scaled at each point of {} by their own numbers; a "
        "network for any grid is trained with data.normalize = \"channel\" or \"none\"",
        grids.path, text_of_shape(grids.given), what, text_of_shape(grids.trained));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
    scaling.shift.push_back(trained.shift[i % count]);
    scaling.scale.push_back(trained.scale[i % count]);
  }
  return scaling;
}

/// Returns the bytes that normalizer_on_grid() takes.
std::size_t scaling_bytes(const Normalizer& trained, const Chain& other) {
  const auto bytes = [](const ColumnScaling& scaling, std::int64_t columns) {
    return scaling.identity() ? 0 : static_cast<std::size_t>(columns) * 2 * sizeof(double);
  };
  return bytes(trained.inputs, other.inputs()) + bytes(trained.targets, other.outputs());
}

Normalizer normalizer_on_grid(const StoredNetwork& trained, const Chain& other, const Grids& grids) {
  const Normalizer& before = trained.training.normalizer;
  const std::int64_t channels = grids.given.back();
  Normalizer normalizer = before;
  normalizer.inputs = scaling_on_grid(before.inputs, channels, other.inputs(), "inputs", grids);
  if (other.outputs() != trained.chain.outputs()) {
    const std::int64_t of_targets = other.output_grid().channels;
    normalizer.targets = scaling_on_grid(before.targets, of_targets, other.outputs(), "targets", grids);
  }
  if (static_cast<std::int64_t>(before.input_range.minimum.size()) != channels) normalizer.input_range = {};
  return normalizer;
}

}  // namespace

std::string text_of_shape(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

void move_to_grid(StoredNetwork& network, const std::vector<std::int64_t>& shape,
                  const RequireMemory& require_memory) {
  if (shape.empty() || shape == network.input_shape) return;
  ModelOptions model = network.options.model;
  const Grids grids{network.path, network.options.model.shape, shape};
  require_same_axes(grids);
  model.shape = shape;
  model.inputs = size_of_shape(shape, network.path.c_str());
  if (!takes_outputs_of_data(model.chain, model.chain.size() - 1)) model.outputs = 0;
  Chain chain = chain_on_grid(model, network.options.precision, network.options.run.seed, grids);
  require_same_weights(network.chain, chain, grids);
  if (require_memory) require_memory(chain, scaling_bytes(network.training.normalizer, chain));
  network.training.normalizer = normalizer_on_grid(network, chain, grids);
  network.chain = std::move(chain);
  network.options.model = std::move(model);
  set_shapes(network);
}

}  // namespace mylos
