#include "mylos/model/layers/join/join.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/launch/columns.hpp"
#include "mylos/kernels/pointwise/residual.hpp"
#include "mylos/model/block/cast.hpp"

namespace mylos {
namespace {

/// Copies of x and s, or of their gradients, in the block's type.
struct JoinCopies {
  JoinCopies(const JoinOptions& options, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.points * options.channels)),
        skip(take_copy(pieces, options.skip_type, options.type, rows,
                       options.points * options.skip_channels)) {}

  Pieces pieces;
  Tensor input;
  Tensor skip;
};

/// The columns of y at each point from which on x and s lie.
struct FirstColumns {
  std::int64_t input = 0;
  std::int64_t skip = 0;
};

FirstColumns first_columns(const JoinOptions& options) {
  if (options.join == JoinType::add) return {};
  return options.skip_first ? FirstColumns{.input = options.skip_channels}
                            : FirstColumns{.skip = options.channels};
}

/// Writes columns of a matrix by points to `target`. If the types differ, the result is computed in `copy`
/// and converted.
void pass_part(const Execution& exec, const ConstColumns& part, const Tensor& copy, const Tensor& target,
               bool adds) {
  const bool casts = !copy.empty();
  if (!casts) return copy_columns(exec, part, {target}, target.columns(), adds);
  if (adds) convert(exec, target, copy);
  copy_columns(exec, part, {copy}, copy.columns(), adds);
  convert(exec, copy, target);
}

}  // namespace

Join::Join(JoinOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = options_.join == JoinType::add ? "add" : "concat",
                 .inputs = options_.points * options_.channels,
                 .outputs = options_.points * (options_.join == JoinType::add
                                                   ? options_.channels
                                                   : options_.channels + options_.skip_channels),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type,
                 .skip_inputs = options_.points * options_.skip_channels,
                 .skip_type = options_.skip_type} {
  if (options_.join == JoinType::add && options_.channels != options_.skip_channels) {
    fail_input(errors::bad_layer, "layer '{}' adds {} channels to {}; an addition needs equal numbers",
               options_.name, options_.skip_channels, options_.channels);
  }
}

BlockCost Join::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  const std::size_t copies = JoinCopies(options_, rows, nullptr).pieces.bytes();
  cost.forward_workspace = cost.variants.front().backward_workspace = copies;
  return cost;
}

void Join::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("join forward");
  const JoinCopies own(options_, memory.input.rows(), memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const ConstTensor s = cast(context.exec, memory.skip, own.skip);
  if (options_.join == JoinType::add) {
    residual_forward(context.exec, x, s, memory.output, {});
    return;
  }
  const std::int64_t points = options_.points;
  const Tensor y = by_points(memory.output, points);
  const FirstColumns first = first_columns(options_);
  copy_columns(context.exec, {by_points(x, points)}, {y, first.input}, options_.channels);
  copy_columns(context.exec, {by_points(s, points)}, {y, first.skip}, options_.skip_channels);
}

void Join::backward(const StepContext& context, const BlockMemory& memory,
                    const BlockGradients& gradients) const {
  const Region region("join backward");
  const JoinCopies own(options_, memory.input.rows(), memory.workspace);
  const std::int64_t points = options_.points;
  const Tensor dy = by_points(gradients.output, points);
  const FirstColumns first = first_columns(options_);
  const auto pass = [&](std::int64_t column, const Tensor& target, const Tensor& copy, bool adds) {
    if (target.empty()) return;
    pass_part(context.exec, {dy, column}, by_points(copy, points), by_points(target, points), adds);
  };
  pass(first.input, gradients.input, own.input, false);
  pass(first.skip, gradients.skip, own.skip, gradients.add_to_skip);
}

}  // namespace mylos
