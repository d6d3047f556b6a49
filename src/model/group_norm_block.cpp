#include "mylos/model/group_norm_block.hpp"

#include "mylos/base/region.hpp"
#include "mylos/kernels/group_norm.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {
namespace {

Tensor take_input(Pieces& pieces, const GroupNormOptions& options, std::int64_t rows) {
  return take_copy(pieces, options.input_type, options.type, rows, options.grid.columns());
}

/// Of each sample and group.
struct GroupStatistics {
  GroupStatistics(const GroupNormOptions& options, std::int64_t rows, Pieces& pieces)
      : mean(pieces.take<float>(rows * options.groups)), rstd(pieces.take<float>(rows * options.groups)) {}

  float* mean;
  float* rstd;
};

struct GroupNormForward {
  GroupNormForward(const GroupNormOptions& options, std::int64_t rows, std::byte* saved, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, options, rows)),
        kept(saved),
        statistics(options, rows, saved != nullptr ? kept : pieces),
        sums(pieces.take_bytes(group_norm_workspace(options.grid, options.groups, rows))) {}

  Pieces pieces;
  Tensor input;
  Pieces kept;
  GroupStatistics statistics;
  std::byte* sums;
};

struct GroupNormBackward {
  GroupNormBackward(const GroupNormOptions& options, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, options, rows)),
        input_gradient(take_input(pieces, options, rows)),
        sums(pieces.take_bytes(group_norm_workspace(options.grid, options.groups, rows))) {}

  Pieces pieces;
  Tensor input;
  Tensor input_gradient;  // before its cast to the input's type
  std::byte* sums;
};

}  // namespace

GroupNormBlock::GroupNormBlock(GroupNormOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "groupnorm",
                 .inputs = options_.grid.columns(),
                 .outputs = options_.grid.columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {
  check_group_norm(options_.grid, options_.groups);
}

std::vector<ParameterSpec> GroupNormBlock::parameters() const {
  const ParameterSpec weight{.name = "weight",
                             .columns = options_.grid.channels,
                             .type = options_.type,
                             .gradient_type = options_.gradient_type,
                             .initial_value = 1};
  ParameterSpec bias = weight;
  bias.name = "bias";
  bias.initial_value = 0;
  return {weight, bias};
}

BlockCost GroupNormBlock::cost(const GemmEngine&, std::int64_t rows) const {
  BlockCost cost;
  cost.output_bytes =
      aligned_bytes(static_cast<std::size_t>(rows * signature_.outputs) * size_of(options_.type));
  cost.forward_workspace = GroupNormForward(options_, rows, nullptr, nullptr).pieces.bytes();
  const auto elements = static_cast<double>(rows * signature_.outputs);
  cost.forward_flops = 8 * elements;
  cost.backward_flops = 14 * elements;
  Pieces kept(nullptr);
  static_cast<void>(GroupStatistics(options_, rows, kept));
  cost.variants.push_back(
      {"all", kept.bytes(), GroupNormBackward(options_, rows, nullptr).pieces.bytes(), 0});
  return cost;
}

void GroupNormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const GroupNormForward own(options_, memory.input.rows(), memory.saved, memory.workspace);
  group_norm_forward(context.exec, options_.grid, options_.groups,
                     cast(context.exec, memory.input, own.input), memory.weights["weight"],
                     memory.weights["bias"], memory.output, own.statistics.mean, own.statistics.rstd,
                     options_.epsilon, own.sums);
}

void GroupNormBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("norm backward");
  const std::int64_t rows = memory.input.rows();
  const GroupNormBackward own(options_, rows, memory.workspace);
  Pieces kept(memory.saved);
  const GroupStatistics statistics(options_, rows, kept);
  const bool casts = !own.input_gradient.empty();
  const Tensor dx = casts ? own.input_gradient : gradients.input;
  // The chain's first block: nobody needs dx, and it may take the place of dy.
  group_norm_backward(context.exec, options_.grid, options_.groups,
                      cast(context.exec, memory.input, own.input), gradients.output, memory.weights["weight"],
                      statistics.mean, statistics.rstd, dx.empty() ? gradients.output : dx,
                      gradients.weights["weight"], gradients.weights["bias"], gradients.accumulate, own.sums);
  if (casts && !gradients.input.empty()) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
