#include "mylos/model/layers/join/gated_add.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/pointwise/soft_gate.hpp"
#include "mylos/model/block/cast.hpp"

namespace mylos {

/// Copies of x and s in the block's type.
struct GatedAdd::Forward {
  Forward(const GatedAddOptions& options, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.grid.columns())),
        skip(take_copy(pieces, options.skip_type, options.type, rows, options.grid.columns())) {}

  Pieces pieces;
  Tensor input;
  Tensor skip;
};

/// Copies of s and of its gradient in the block's type.
struct GatedAdd::Backward {
  Backward(const GatedAddOptions& options, const SumBoxes& boxes, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        skip(take_copy(pieces, options.skip_type, options.type, rows, options.grid.columns())),
        skip_gradient(take_copy(pieces, options.skip_type, options.type, rows, options.grid.columns())),
        sums(pieces.take_bytes(soft_gate_workspace(rows * options.grid.points(), options.grid.channels))),
        skip_points(boxes.take_points(pieces, options.type, rows)),
        output_gradient(boxes.take_points(pieces, options.type, rows)),
        skip_points_gradient(boxes.take_points(pieces, options.type, rows)),
        weight_sums(boxes.take_sums(pieces, DType::fp32, options.grid.channels)) {}

  Pieces pieces;
  Tensor skip;
  Tensor skip_gradient;
  std::byte* sums;
  Tensor skip_points;  // of one box of sums
  Tensor output_gradient;
  Tensor skip_points_gradient;
  Tensor weight_sums;
};

GatedAdd::GatedAdd(GatedAddOptions options)
    : options_(std::move(options)),
      boxes_(options_.grid, options_.part),
      signature_{.name = options_.name,
                 .kind = "add",
                 .inputs = options_.grid.columns(),
                 .outputs = options_.grid.columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type,
                 .skip_inputs = options_.grid.columns(),
                 .skip_type = options_.skip_type} {}

std::vector<ParameterSpec> GatedAdd::parameters() const {
  return {{.name = "weight",
           .columns = options_.grid.channels,
           .type = options_.type,
           .gradient_type = options_.gradient_type,
           .initial_value = 1}};
}

BlockCost GatedAdd::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  cost.forward_flops *= 2;
  cost.backward_flops *= 3;
  cost.forward_workspace = Forward(options_, rows, nullptr).pieces.bytes();
  cost.variants.front().backward_workspace = Backward(options_, boxes_, rows, nullptr).pieces.bytes();
  return cost;
}

void GatedAdd::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("gate forward");
  const std::int64_t points = options_.grid.points();
  const Forward own(options_, memory.input.rows(), memory.workspace);
  soft_gate_forward(context.exec, by_points(cast(context.exec, memory.input, own.input), points),
                    by_points(cast(context.exec, memory.skip, own.skip), points), memory.weights["weight"],
                    by_points(memory.output, points));
}

void GatedAdd::backward(const StepContext& context, const BlockMemory& memory,
                        const BlockGradients& gradients) const {
  const Region region("gate backward");
  const Backward own(options_, boxes_, memory.input.rows(), memory.workspace);
  if (!gradients.input.empty()) convert(context.exec, gradients.output, gradients.input);
  const bool casts = !own.skip_gradient.empty() && !gradients.skip.empty();
  if (casts && gradients.add_to_skip) convert(context.exec, gradients.skip, own.skip_gradient);
  const Tensor ds = casts ? own.skip_gradient : gradients.skip;
  const ConstTensor skip = cast(context.exec, memory.skip, own.skip);
  const Tensor& dw = gradients.weights["weight"];
  const std::int64_t points = boxes_.grid().points();
  for (int box = 0; box < boxes_.count(); ++box) {
    const Tensor ds_of_box = boxes_.points_of(context.exec, box, ds, own.skip_points_gradient);
    soft_gate_backward(
        context.exec, by_points(boxes_.points_of(context.exec, box, skip, own.skip_points), points),
        memory.weights["weight"],
        by_points(boxes_.points_of(context.exec, box, gradients.output, own.output_gradient), points),
        by_points(ds_of_box, points), gradients.add_to_skip, sum_of_box(own.weight_sums, box, dw),
        boxes_.is_one() && gradients.accumulate, own.sums);
    boxes_.put_points(context.exec, box, ds_of_box, ds);
  }
  add_sums_of_boxes(context.exec, own.weight_sums, dw, gradients.accumulate);
  if (casts) convert(context.exec, ds, gradients.skip);
}

}  // namespace mylos
