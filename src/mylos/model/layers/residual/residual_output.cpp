#include "mylos/model/layers/residual/residual_output.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/layers/join/join.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

constexpr const char* residual_layer = "residual";

/// "16 x 16 points of 3 channels"
std::string sample_text(const SampleShape& shape) {
  if (shape.axes == 0) return fmt::format("a vector of {}", shape.grid.channels);
  std::string points;
  for (std::size_t axis = 3 - shape.axes; axis < 3; ++axis)
    points += fmt::format("{}{}", points.empty() ? "" : " x ", shape.grid.extent[axis]);
  return fmt::format("{} points of {} channel{}", points, shape.grid.channels,
                     shape.grid.channels == 1 ? "" : "s");
}

void require_same_shape(const SampleShape& input, const SampleShape& output) {
  const bool same_numbers = input.grid.columns() == output.grid.columns();
  if (same_numbers && (input.axes == 0 || output.axes == 0 || input.grid == output.grid)) return;
  fail_input(
      errors::bad_layer,
      "model.residual adds the network's input, {}, to its output, {}: the shapes must be the same (of a "
      "unet, 'fields' is the number of the input's channels)",
      sample_text(input), sample_text(output));
}

}  // namespace

std::optional<DType> type_of_residual_input(const ModelOptions& model, const PrecisionOptions& precision) {
  if (!model.residual) return std::nullopt;
  return float_unless_ruled(precision, residual_layer, "add");
}

void append_residual(Chain& chain, const ModelOptions& model, const SampleShape& input,
                     const SampleShape& output) {
  if (!model.residual) return;
  if (outputs_per_target(model.loss) > 1) {
    fail_input(errors::keys_conflict,
               "model.residual adds the network's input to its output, and with model.loss = \"{}\" that has "
               "{} numbers for each of the input's; leave model.residual out",
               name_of(model.loss), outputs_per_target(model.loss));
  }
  require_same_shape(input, output);
  for (const auto& block : chain.blocks) {
    if (block->signature().name == residual_layer) {
      fail_input(errors::duplicate_key,
                 "model.residual makes a layer '{}', and the network has a layer of that name; rename it",
                 residual_layer);
    }
  }
  JoinOptions options;
  options.name = residual_layer;
  options.channels = output.grid.columns();
  options.skip_channels = options.channels;
  options.type = chain.input_type();
  options.input_type = chain.blocks.back()->signature().output_type;
  options.skip_type = chain.input_type();
  chain.skips.resize(chain.blocks.size(), no_skip);
  chain.blocks.push_back(std::make_unique<Join>(std::move(options)));
  chain.skips.push_back(0);
}

}  // namespace mylos
