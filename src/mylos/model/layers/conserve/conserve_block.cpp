#include "mylos/model/layers/conserve/conserve_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/model/block/cast.hpp"

namespace mylos {
namespace {

/// A copy of the earlier boundary, or of its gradient, in the block's type.
struct SkipCopy {
  SkipCopy(const ConserveOptions& options, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    if (options.skip_channels > 0)
      skip = take_copy(pieces, options.skip_type, options.type, rows,
                       options.grid.points() * options.skip_channels);
  }

  Pieces pieces;
  Tensor skip;
};

}  // namespace

ConserveBlock::ConserveBlock(ConserveOptions options)
    : options_(std::move(options)),
      weights_name_("row weights of " + options_.name),
      signature_{.name = options_.name,
                 .kind = options_.skip_channels > 0 ? "conserve" : "zero_sum",
                 .inputs = options_.grid.columns(),
                 .outputs = options_.grid.columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type,
                 .skip_inputs = options_.grid.points() * options_.skip_channels,
                 .skip_type = options_.skip_type} {
  const std::int64_t points = options_.grid.points();
  total_ = options_.row_weights.empty() ? static_cast<double>(points) : 0;
  for (std::size_t row = 0; row < options_.row_weights.size(); ++row)
    total_ += static_cast<double>(weight(static_cast<std::int64_t>(row))) *
              static_cast<double>(points / options_.rows);
}

std::vector<BufferSpec> ConserveBlock::buffers() const {
  if (options_.row_weights.empty()) return {};
  return {{.name = weights_name_,
           .size = options_.rows,
           .role = BufferRole::constant,
           .values = [weights = options_.row_weights](std::int64_t first, std::span<float> numbers) {
             for (std::size_t i = 0; i < numbers.size(); ++i)
               numbers[i] = static_cast<float>(weights[static_cast<std::size_t>(first) + i]);
           }}};
}

PointSums ConserveBlock::sums(const ParameterTensors& buffers) const {
  const std::int64_t points = options_.grid.points();
  return {.points = points,
          .channels = options_.grid.channels,
          .from_channels = options_.skip_channels,
          .row_points = points / options_.rows,
          .weights = options_.row_weights.empty() ? nullptr : buffers[weights_name_].as<float>(),
          .inverse_total = 1 / total_,
          .of = options_.channels};
}

BlockCost ConserveBlock::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  cost.forward_flops *= 4;
  cost.backward_flops *= 4;
  const std::size_t copies = SkipCopy(options_, rows, nullptr).pieces.bytes();
  cost.forward_workspace = cost.variants.front().backward_workspace = copies;
  return cost;
}

void ConserveBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("conserve");
  const SkipCopy own(options_, memory.input.rows(), memory.workspace);
  convert(context.exec, memory.input, memory.output);
  const ConstTensor s =
      options_.skip_channels > 0 ? cast(context.exec, memory.skip, own.skip) : ConstTensor();
  set_point_sums(context.exec, sums(memory.buffers), s, memory.output);
}

void ConserveBlock::backward(const StepContext& context, const BlockMemory& memory,
                             const BlockGradients& gradients) const {
  const Region region("conserve back");
  const PointSums of = sums(memory.buffers);
  if (!gradients.skip.empty()) {
    const SkipCopy own(options_, memory.input.rows(), memory.workspace);
    const Tensor ds = own.skip.empty() ? gradients.skip : own.skip;
    if (!own.skip.empty() && gradients.add_to_skip) convert(context.exec, gradients.skip, ds);
    point_sums_backward_s(context.exec, of, gradients.output, ds, gradients.add_to_skip);
    if (!own.skip.empty()) convert(context.exec, ds, gradients.skip);
  }
  if (gradients.input.empty()) return;
  point_sums_backward_y(context.exec, of, gradients.output);
  convert(context.exec, gradients.output, gradients.input);
}

}  // namespace mylos
