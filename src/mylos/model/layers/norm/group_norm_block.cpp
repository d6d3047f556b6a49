#include "mylos/model/layers/norm/group_norm_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/norm/group_norm.hpp"
#include "mylos/model/block/norm_parts.hpp"

namespace mylos {
namespace {

/// Takes the sums of each sample and group, of all boxes of a sample; empty if it has one.
Tensor take_sums(Pieces& pieces, const GroupNormOptions& options, std::int64_t rows) {
  return !options.part.has_boxes() ? Tensor() : pieces.take_tensor(DType::fp64, rows, 2 * options.groups);
}

void add_up_boxes(const StepContext& context, const Tensor& sums) {
  if (context.sample_ranks != nullptr) context.sample_ranks->add_up(context.exec, sums);
}

}  // namespace

/// The statistics of each sample and group.
struct GroupNormBlock::Statistics {
  Statistics(const GroupNormOptions& options, std::int64_t rows, Pieces& pieces)
      : mean(pieces.take<float>(rows * options.groups)), rstd(pieces.take<float>(rows * options.groups)) {}

  float* mean;
  float* rstd;
};

struct GroupNormBlock::Forward {
  Forward(const GroupNormBlock& block, std::int64_t rows, std::byte* saved, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, block.signature_, rows)),
        saved_pieces(saved),
        statistics(block.options_, rows, saved != nullptr ? saved_pieces : pieces),
        kernels(pieces.take_bytes(group_norm_workspace(block.options_.grid, block.options_.groups, rows))),
        sums(take_sums(pieces, block.options_, rows)),
        points(block.boxes_.take_points(pieces, block.options_.type, rows)),
        sums_of_boxes(block.boxes_.take_sums(pieces, DType::fp64, sums.size())) {}

  Pieces pieces;
  Tensor input;
  Pieces saved_pieces;
  Statistics statistics;
  std::byte* kernels;
  Tensor sums;
  Tensor points;  // of one box of sums
  Tensor sums_of_boxes;
};

struct GroupNormBlock::Backward : NormBackward {
  Backward(const GroupNormBlock& block, std::int64_t rows, std::byte* workspace)
      : NormBackward(block.signature_, rows,
                     group_norm_workspace(block.options_.grid, block.options_.groups, rows), workspace),
        sums(take_sums(pieces, block.options_, rows)),
        points(block.boxes_.take_points(pieces, block.options_.type, rows)),
        gradients(block.boxes_.take_points(pieces, block.options_.type, rows)),
        sums_of_boxes(block.boxes_.take_sums(pieces, DType::fp64, sums.size())),
        weight_sums(block.boxes_.take_sums(pieces, DType::fp32, block.options_.grid.channels)),
        bias_sums(block.boxes_.take_sums(pieces, DType::fp32, block.options_.grid.channels)) {}

  Tensor sums;
  Tensor points;     // of one box of sums
  Tensor gradients;  // at these
  Tensor sums_of_boxes;
  Tensor weight_sums;
  Tensor bias_sums;
};

GroupNormBlock::GroupNormBlock(GroupNormOptions options)
    : options_(std::move(options)),
      boxes_(options_.grid, options_.part),
      signature_(norm_signature(options_, "groupnorm", options_.grid.columns())) {
  check_group_norm(options_.grid, options_.groups);
}

std::vector<ParameterSpec> GroupNormBlock::parameters() const {
  return weight_and_bias(options_, options_.grid.channels);
}

BlockCost GroupNormBlock::cost(const Engines&, std::int64_t rows) const {
  Pieces saved_pieces(nullptr);
  static_cast<void>(Statistics(options_, rows, saved_pieces));
  return norm_cost(signature_, rows, Forward(*this, rows, nullptr, nullptr).pieces.bytes(),
                   saved_pieces.bytes(), Backward(*this, rows, nullptr).pieces.bytes());
}

std::vector<SampleCall> GroupNormBlock::sample_calls(std::int64_t rows, const BlockPass& /*pass*/) const {
  if (!options_.part.is_split()) return {};
  return {{.bytes = sizeof(double) * static_cast<std::size_t>(2 * rows * options_.groups), .is_sum = true}};
}

void GroupNormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const Forward own(*this, memory.input.rows(), memory.saved, memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const Tensor& gamma = memory.weights["weight"];
  const Tensor& beta = memory.weights["bias"];
  if (own.sums.empty()) {
    return group_norm_forward(context.exec, options_.grid, options_.groups, x, gamma, beta, memory.output,
                              own.statistics.mean, own.statistics.rstd, options_.epsilon, own.kernels);
  }
  auto* const sums = own.sums.as<double>();
  for (int box = 0; box < boxes_.count(); ++box) {
    group_norm_sum(context.exec, boxes_.grid(), options_.groups,
                   boxes_.points_of(context.exec, box, x, own.points),
                   sum_of_box(own.sums_of_boxes, box, own.sums).as<double>(), own.kernels);
  }
  add_sums_of_boxes(context.exec, own.sums_of_boxes, own.sums, false);
  add_up_boxes(context, own.sums);
  group_norm_apply(context.exec, options_.grid, options_.groups, values(), x, gamma, beta, sums,
                   options_.epsilon, memory.output, own.statistics.mean, own.statistics.rstd);
}

void GroupNormBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("norm backward");
  const std::int64_t rows = memory.input.rows();
  const Backward own(*this, rows, memory.workspace);
  Pieces saved_pieces(memory.saved);
  const Statistics statistics(options_, rows, saved_pieces);
  const bool casts = !own.input_gradient.empty();
  const Tensor dx = casts ? own.input_gradient : gradients.input;
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const Tensor& dy = gradients.output;
  // For the chain's first block dx is not needed and may overwrite dy.
  const Tensor written = dx.empty() ? dy : dx;
  const Tensor& gamma = memory.weights["weight"];
  if (own.sums.empty()) {
    group_norm_backward(context.exec, options_.grid, options_.groups, x, dy, gamma, statistics.mean,
                        statistics.rstd, written, gradients.weights["weight"], gradients.weights["bias"],
                        gradients.accumulate, own.kernels);
  } else {
    auto* const sums = own.sums.as<double>();
    sum_gradients(context.exec, own, x, statistics, memory.weights, gradients);
    add_up_boxes(context, own.sums);
    group_norm_input_gradient(context.exec, options_.grid, options_.groups, values(), x, dy, gamma,
                              statistics.mean, statistics.rstd, sums, written, own.kernels);
  }
  if (casts && !gradients.input.empty()) convert(context.exec, dx, gradients.input);
}

void GroupNormBlock::sum_gradients(const Execution& exec, const Backward& own, const ConstTensor& x,
                                   const Statistics& statistics, const ParameterTensors& weights,
                                   const BlockGradients& gradients) const {
  const Tensor& dgamma = gradients.weights["weight"];
  const Tensor& dbeta = gradients.weights["bias"];
  for (int box = 0; box < boxes_.count(); ++box) {
    group_norm_sum_gradients(exec, boxes_.grid(), options_.groups, boxes_.points_of(exec, box, x, own.points),
                             boxes_.points_of(exec, box, gradients.output, own.gradients), weights["weight"],
                             statistics.mean, statistics.rstd,
                             sum_of_box(own.sums_of_boxes, box, own.sums).as<double>(),
                             sum_of_box(own.weight_sums, box, dgamma), sum_of_box(own.bias_sums, box, dbeta),
                             boxes_.is_one() && gradients.accumulate, own.kernels);
  }
  add_sums_of_boxes(exec, own.sums_of_boxes, own.sums, false);
  add_sums_of_boxes(exec, own.weight_sums, dgamma, gradients.accumulate);
  add_sums_of_boxes(exec, own.bias_sums, dbeta, gradients.accumulate);
}

}  // namespace mylos
