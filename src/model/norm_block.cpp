#include "mylos/model/norm_block.hpp"

#include "mylos/base/region.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {
namespace {

/// A row for each point that is normalised by itself.
Tensor by_points(const Tensor& tensor, const NormOptions& options) {
  return {tensor.data(), tensor.type(), tensor.rows() * options.points, options.norm.width};
}

struct NormForward {
  /// `rows`: points of all samples. `saved`: null where nobody keeps the statistics.
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
                 .inputs = options_.points * options_.norm.width,
                 .outputs = options_.points * options_.norm.width,
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

BlockCost NormBlock::cost(const GemmEngine&, std::int64_t samples) const {
  const Norm& norm = options_.norm;
  const std::int64_t rows = samples * options_.points;
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
  const Tensor x = by_points(memory.input, options_);
  const NormForward own(options_, x.rows(), memory.saved, memory.workspace);
  options_.norm.forward(context.exec, cast(context.exec, x, own.input), memory.weights,
                        by_points(memory.output, options_), own.statistics);
}

void NormBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  const Region region("norm backward");
  const Tensor x = by_points(memory.input, options_);
  const NormBackward own(options_, x.rows(), memory.workspace);
  const bool casts = !own.input_gradient.empty();
  const Tensor d_input = by_points(gradients.input, options_);
  // The chain's first block: nobody needs dx, and it may take the place of dy.
  const Tensor wanted = casts ? own.input_gradient : d_input;
  const Tensor dx = wanted.empty() ? by_points(gradients.output, options_) : wanted;
  options_.norm.backward(context.exec, cast(context.exec, x, own.input),
                         by_points(gradients.output, options_), memory.weights, memory.saved, dx,
                         gradients.weights, gradients.accumulate, own.norm, {});
  if (casts && !d_input.empty()) convert(context.exec, dx, d_input);
}

}  // namespace mylos
