#include "mylos/model/layers/norm/norm_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/model/block/norm_parts.hpp"

namespace mylos {
namespace {

struct NormForward {
  /// `rows`: of the block's matrix. `saved`: null if the statistics are not saved.
  NormForward(const Signature& signature, const NormOptions& options, std::int64_t rows, std::byte* saved,
              std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, signature, rows)),
        statistics(saved != nullptr
                       ? saved
                       : pieces.take_bytes(options.norm.statistics_bytes(rows * options.points))) {}

  Pieces pieces;
  Tensor input;
  std::byte* statistics;
};

NormBackward backward_pieces(const Signature& signature, const NormOptions& options, std::int64_t rows,
                             std::byte* workspace) {
  return {signature, rows, options.norm.backward_workspace(rows * options.points), workspace};
}

}  // namespace

NormBlock::NormBlock(NormOptions options)
    : options_(std::move(options)),
      signature_(
          norm_signature(options_, kind_of(options_.norm.type), options_.points * options_.norm.width)) {}

BlockCost NormBlock::cost(const Engines&, std::int64_t rows) const {
  return norm_cost(signature_, rows, NormForward(signature_, options_, rows, nullptr, nullptr).pieces.bytes(),
                   options_.norm.statistics_bytes(rows * options_.points),
                   backward_pieces(signature_, options_, rows, nullptr).pieces.bytes());
}

std::optional<InputNorm> NormBlock::input_norm(const StepContext& /*context*/,
                                               const BlockMemory& memory) const {
  const NormForward own(signature_, options_, memory.input.rows(), memory.saved, memory.workspace);
  if (!own.input.empty() || options_.points > 1) return std::nullopt;
  return InputNorm{&options_.norm, memory.weights, memory.output, own.statistics};
}

void NormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  if (memory.has_norm) return;
  const NormForward own(signature_, options_, memory.input.rows(), memory.saved, memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  options_.norm.forward(context.exec, by_points(x, options_.points), memory.weights,
                        by_points(memory.output, options_.points), own.statistics);
}

void NormBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  const Region region("norm backward");
  const NormBackward own = backward_pieces(signature_, options_, memory.input.rows(), memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const bool casts = !own.input_gradient.empty();
  // For the chain's first block dx is not needed and may overwrite dy.
  const Tensor wanted = casts ? own.input_gradient : gradients.input;
  const Tensor dy = by_points(gradients.output, options_.points);
  const Tensor dx = wanted.empty() ? dy : by_points(wanted, options_.points);
  options_.norm.backward(context.exec, by_points(x, options_.points), dy, memory.weights, memory.saved, dx,
                         gradients.weights, gradients.accumulate, own.kernels, {});
  if (casts && !gradients.input.empty()) convert(context.exec, own.input_gradient, gradients.input);
}

}  // namespace mylos
