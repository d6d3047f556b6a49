#include "mylos/model/layers/attention/positions_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/grid/positions.hpp"
#include "mylos/kernels/pointwise/residual.hpp"
#include "mylos/model/block/cast.hpp"

namespace mylos {
namespace {

constexpr float initial_std = 0.02f;  // as the position embeddings of ViT and GPT-2

/// Returns the numbers [points, channels] as one row.
template <class Void>
BasicTensor<Void> as_row(const BasicTensor<Void>& numbers) {
  return {numbers.data(), numbers.type(), 1, numbers.rows() * numbers.columns()};
}

}  // namespace

PositionsBlock::PositionsBlock(PositionsOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "positions",
                 .inputs = options_.grid.columns(),
                 .outputs = options_.grid.columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

std::vector<ParameterSpec> PositionsBlock::parameters() const {
  return {{.name = "weight",
           .rows = options_.grid.points(),
           .columns = options_.grid.channels,
           .is_matrix = true,
           .type = options_.type,
           .gradient_type = options_.gradient_type,
           .initial_std = initial_std}};
}

BlockCost PositionsBlock::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  Pieces copy(nullptr);
  static_cast<void>(take_copy(copy, options_.input_type, options_.type, rows, signature_.inputs));
  cost.forward_workspace = cost.variants.front().backward_workspace = copy.bytes();
  return cost;
}

void PositionsBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("positions");
  Pieces pieces(memory.workspace);
  const Tensor copy =
      take_copy(pieces, options_.input_type, options_.type, memory.input.rows(), signature_.inputs);
  add_positions(context.exec, cast(context.exec, memory.input, copy), as_row(memory.weights["weight"]),
                memory.output);
}

void PositionsBlock::backward(const StepContext& context, const BlockMemory& /*memory*/,
                              const BlockGradients& gradients) const {
  const Region region("positions back");
  const Tensor sums = gradients.wants_weights ? as_row(gradients.weights["weight"]) : Tensor();
  const bool casts = options_.input_type != options_.type;
  const bool wants_input = !gradients.input.empty();
  const Tensor dx = wants_input && !casts ? gradients.input : gradients.output;
  residual_backward(context.exec, gradients.output, dx, sums, gradients.accumulate, {});
  if (casts && wants_input) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
