#include "mylos/model/norm_block.hpp"

#include "mylos/base/region.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {

BlockCost NormBlock::cost(const GemmEngine&, std::int64_t rows) const {
  const Norm& norm = options_.norm;
  const std::int64_t elements = rows * norm.width;
  const std::size_t cast = cast_bytes(elements, options_.input_type, options_.type);
  BlockCost cost;
  cost.output_bytes = aligned_bytes(static_cast<std::size_t>(elements) * size_of(options_.type));
  cost.forward_workspace = cast + norm.statistics_bytes(rows);  // statistics that nobody keeps
  cost.forward_flops = norm.forward_flops(rows);
  cost.backward_flops = norm.backward_flops(rows);
  cost.variants.push_back({"all", norm.statistics_bytes(rows), 2 * cast + norm.backward_workspace(rows), 0});
  return cost;
}

void NormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace);
  std::byte* statistics =
      memory.saved != nullptr
          ? memory.saved
          : memory.workspace + cast_bytes(input.size(), options_.input_type, options_.type);
  options_.norm.forward(context.exec, input, memory.weights, memory.output, statistics);
}

void NormBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  const Region region("norm backward");
  const std::size_t cast_size = cast_bytes(memory.input.size(), options_.input_type, options_.type);
  const bool casts = cast_size > 0;
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace);
  const Tensor dx = casts ? Tensor(memory.workspace + cast_size, options_.type, input.rows(), input.columns())
                          : gradients.input;
  options_.norm.backward(context.exec, input, gradients.output, memory.weights, memory.saved, dx,
                         gradients.weights, gradients.accumulate, memory.workspace + 2 * cast_size, {});
  if (casts) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
