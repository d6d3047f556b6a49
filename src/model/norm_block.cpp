#include "mylos/model/norm_block.hpp"

#include "mylos/base/region.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {
namespace {

struct NormForward {
  /// `saved`: null where nobody keeps the statistics.
  NormForward(const NormOptions& options, std::int64_t rows, std::byte* saved, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.norm.width)),
        statistics(saved != nullptr ? saved : pieces.take_bytes(options.norm.statistics_bytes(rows))) {}

  Pieces pieces;
  Tensor input;
  std::byte* statistics;
};

struct NormBackward {
  NormBackward(const NormOptions& options, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.norm.width)),
        input_gradient(take_copy(pieces, options.input_type, options.type, rows, options.norm.width)),
        norm(pieces.take_bytes(options.norm.backward_workspace(rows))) {}

  Pieces pieces;
  Tensor input;
  Tensor input_gradient;  // before its cast to the input's type
  std::byte* norm;
};

}  // namespace

NormBlock::NormBlock(NormOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = kind_of(options_.norm.type),
                 .inputs = options_.norm.width,
                 .outputs = options_.norm.width,
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

BlockCost NormBlock::cost(const GemmEngine&, std::int64_t rows) const {
  const Norm& norm = options_.norm;
  BlockCost cost;
  cost.output_bytes = aligned_bytes(static_cast<std::size_t>(rows * norm.width) * size_of(options_.type));
  cost.forward_workspace = NormForward(options_, rows, nullptr, nullptr).pieces.bytes();
  cost.forward_flops = norm.forward_flops(rows);
  cost.backward_flops = norm.backward_flops(rows);
  cost.variants.push_back(
      {"all", norm.statistics_bytes(rows), NormBackward(options_, rows, nullptr).pieces.bytes(), 0});
  return cost;
}

void NormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const NormForward own(options_, memory.input.rows(), memory.saved, memory.workspace);
  options_.norm.forward(context.exec, cast(context.exec, memory.input, own.input), memory.weights,
                        memory.output, own.statistics);
}

void NormBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  const Region region("norm backward");
  const NormBackward own(options_, memory.input.rows(), memory.workspace);
  const bool casts = !own.input_gradient.empty();
  const Tensor input = cast(context.exec, memory.input, own.input);
  const Tensor dx = casts ? own.input_gradient : gradients.input;
  options_.norm.backward(context.exec, input, gradients.output, memory.weights, memory.saved, dx,
                         gradients.weights, gradients.accumulate, own.norm, {});
  if (casts) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
