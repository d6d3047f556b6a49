#include "mylos/model/layers/norm/norm_block.hpp"

#include <array>

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
                       : pieces.take_bytes(options.norm.statistics_bytes(rows * options.points()))) {}

  Pieces pieces;
  Tensor input;
  std::byte* statistics;
};

}  // namespace

struct NormBlock::Backward : NormBackward {
  Backward(const NormBlock& block, std::int64_t rows, std::byte* workspace)
      : NormBackward(block.signature_, rows,
                     block.options_.norm.backward_workspace(rows * block.options_.points()), workspace),
        points(block.boxes_.take_points(pieces, block.options_.type, rows)),
        output_gradient(block.boxes_.take_points(pieces, block.options_.type, rows)),
        point_gradient(block.boxes_.take_points(pieces, block.options_.type, rows)),
        weight_sums(block.boxes_.take_sums(pieces, DType::fp32, block.options_.norm.width)),
        bias_sums(block.boxes_.take_sums(pieces, DType::fp32, block.options_.norm.width)) {
    if (!block.boxes_.is_one())
      statistics =
          pieces.take_bytes(block.options_.norm.statistics_bytes(rows * block.boxes_.grid().points()));
  }

  Tensor points;  // of one box of sums
  Tensor output_gradient;
  Tensor point_gradient;
  Tensor weight_sums;
  Tensor bias_sums;
  std::byte* statistics = nullptr;  // of that box
};

NormBlock::NormBlock(NormOptions options)
    : options_(std::move(options)),
      boxes_(options_.grid(), options_.part),
      signature_(
          norm_signature(options_, kind_of(options_.norm.type), options_.points() * options_.norm.width)) {}

BlockCost NormBlock::cost(const Engines&, std::int64_t rows) const {
  return norm_cost(signature_, rows, NormForward(signature_, options_, rows, nullptr, nullptr).pieces.bytes(),
                   options_.norm.statistics_bytes(rows * options_.points()),
                   Backward(*this, rows, nullptr).pieces.bytes());
}

std::optional<InputNorm> NormBlock::input_norm(const StepContext& /*context*/,
                                               const BlockMemory& memory) const {
  const NormForward own(signature_, options_, memory.input.rows(), memory.saved, memory.workspace);
  if (!own.input.empty() || options_.points() > 1) return std::nullopt;
  return InputNorm{&options_.norm, memory.weights, memory.output, own.statistics};
}

void NormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  if (memory.has_norm) return;
  const NormForward own(signature_, options_, memory.input.rows(), memory.saved, memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  options_.norm.forward(context.exec, by_points(x, options_.points()), memory.weights,
                        by_points(memory.output, options_.points()), own.statistics);
}

void NormBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  const Region region("norm backward");
  const Backward own(*this, memory.input.rows(), memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const bool casts = !own.input_gradient.empty();
  // For the chain's first block dx is not needed and may overwrite dy.
  const Tensor wanted = casts ? own.input_gradient : gradients.input;
  const Tensor dx = wanted.empty() ? gradients.output : wanted;
  if (boxes_.is_one()) {
    const std::int64_t points = options_.points();
    options_.norm.backward(context.exec, by_points(x, points), by_points(gradients.output, points),
                           memory.weights, memory.saved, by_points(dx, points), gradients.weights,
                           gradients.accumulate, own.kernels, {});
  } else {
    backward_by_boxes(context.exec, own, x, memory.weights, gradients, dx);
  }
  if (casts && !gradients.input.empty()) convert(context.exec, own.input_gradient, gradients.input);
}

/// The statistics of a box's points are computed again, which is less than to copy them would be.
void NormBlock::backward_by_boxes(const Execution& exec, const Backward& own, const ConstTensor& x,
                                  const ParameterTensors& weights, const BlockGradients& gradients,
                                  const Tensor& dx) const {
  const Norm& norm = options_.norm;
  const Tensor& dgamma = gradients.weights["weight"];
  const Tensor dbeta = norm.has_bias() ? gradients.weights["bias"] : Tensor();
  const std::int64_t points = boxes_.grid().points();
  const Tensor of_points = by_points(own.point_gradient, points);
  for (int box = 0; box < boxes_.count(); ++box) {
    boxes_.copy_points(exec, box, x, own.points);
    boxes_.copy_points(exec, box, gradients.output, own.output_gradient);
    norm.forward(exec, by_points(own.points, points), weights, of_points, own.statistics);
    const std::array<NamedTensor, 2> sums{NamedTensor{"weight", sum_of_box(own.weight_sums, box, dgamma)},
                                          NamedTensor{"bias", sum_of_box(own.bias_sums, box, dbeta)}};
    norm.backward(exec, by_points(own.points, points), by_points(own.output_gradient, points), weights,
                  own.statistics, of_points, ParameterTensors(sums), false, own.kernels, {});
    boxes_.put_points(exec, box, own.point_gradient, dx);
  }
  add_sums_of_boxes(exec, own.weight_sums, dgamma, gradients.accumulate);
  add_sums_of_boxes(exec, own.bias_sums, dbeta, gradients.accumulate);
}

}  // namespace mylos
