#include "mylos/model/layers/norm/group_norm_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/norm/group_norm.hpp"
#include "mylos/model/block/norm_parts.hpp"

namespace mylos {
namespace {

/// The statistics of each sample and group.
struct GroupStatistics {
  GroupStatistics(const GroupNormOptions& options, std::int64_t rows, Pieces& pieces)
      : mean(pieces.take<float>(rows * options.groups)), rstd(pieces.take<float>(rows * options.groups)) {}

  float* mean;
  float* rstd;
};

struct GroupNormForward {
  GroupNormForward(const Signature& signature, const GroupNormOptions& options, std::int64_t rows,
                   std::byte* saved, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, signature, rows)),
        saved_pieces(saved),
        statistics(options, rows, saved != nullptr ? saved_pieces : pieces),
        sums(pieces.take_bytes(group_norm_workspace(options.grid, options.groups, rows))) {}

  Pieces pieces;
  Tensor input;
  Pieces saved_pieces;
  GroupStatistics statistics;
  std::byte* sums;
};

NormBackward group_norm_backward_pieces(const Signature& signature, const GroupNormOptions& options,
                                        std::int64_t rows, std::byte* workspace) {
  return {signature, rows, group_norm_workspace(options.grid, options.groups, rows), workspace};
}

}  // namespace

GroupNormBlock::GroupNormBlock(GroupNormOptions options)
    : options_(std::move(options)),
      signature_(norm_signature(options_, "groupnorm", options_.grid.columns())) {
  check_group_norm(options_.grid, options_.groups);
}

std::vector<ParameterSpec> GroupNormBlock::parameters() const {
  return weight_and_bias(options_, options_.grid.channels);
}

BlockCost GroupNormBlock::cost(const Engines&, std::int64_t rows) const {
  Pieces saved_pieces(nullptr);
  static_cast<void>(GroupStatistics(options_, rows, saved_pieces));
  return norm_cost(
      signature_, rows, GroupNormForward(signature_, options_, rows, nullptr, nullptr).pieces.bytes(),
      saved_pieces.bytes(), group_norm_backward_pieces(signature_, options_, rows, nullptr).pieces.bytes());
}

void GroupNormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const GroupNormForward own(signature_, options_, memory.input.rows(), memory.saved, memory.workspace);
  group_norm_forward(context.exec, options_.grid, options_.groups,
                     cast(context.exec, memory.input, own.input), memory.weights["weight"],
                     memory.weights["bias"], memory.output, own.statistics.mean, own.statistics.rstd,
                     options_.epsilon, own.sums);
}

void GroupNormBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("norm backward");
  const std::int64_t rows = memory.input.rows();
  const NormBackward own = group_norm_backward_pieces(signature_, options_, rows, memory.workspace);
  Pieces saved_pieces(memory.saved);
  const GroupStatistics statistics(options_, rows, saved_pieces);
  const bool casts = !own.input_gradient.empty();
  const Tensor dx = casts ? own.input_gradient : gradients.input;
  // For the chain's first block dx is not needed and may overwrite dy.
  group_norm_backward(context.exec, options_.grid, options_.groups,
                      cast(context.exec, memory.input, own.input), gradients.output, memory.weights["weight"],
                      statistics.mean, statistics.rstd, dx.empty() ? gradients.output : dx,
                      gradients.weights["weight"], gradients.weights["bias"], gradients.accumulate,
                      own.kernels);
  if (casts && !gradients.input.empty()) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
