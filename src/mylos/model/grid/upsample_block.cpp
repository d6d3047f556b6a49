#include "mylos/model/grid/upsample_block.hpp"

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/region.hpp"

namespace mylos {
namespace {

GridShape output_of(const UpsampleShape& shape) {
  check(shape);
  return output_grid(shape);
}

}  // namespace

UpsampleBlock::UpsampleBlock(UpsampleOptions options)
    : options_(std::move(options)),
      output_(output_of(options_.shape)),
      signature_{.name = options_.name,
                 .kind = "upsample",
                 .inputs = options_.shape.input.columns(),
                 .outputs = output_.columns(),
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

BlockCost UpsampleBlock::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost;
  cost.output_bytes =
      aligned_bytes(static_cast<std::size_t>(rows * signature_.outputs) * size_of(options_.type));
  cost.forward_flops = static_cast<double>(rows * signature_.outputs);
  cost.backward_flops = cost.forward_flops;
  cost.variants.push_back({"all", 0, 0, 0});
  return cost;
}

void UpsampleBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("upsample forward");
  upsample_forward(context.exec, options_.shape, memory.input, memory.output);
}

void UpsampleBlock::backward(const StepContext& context, const BlockMemory&,
                             const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("upsample back");
  upsample_backward(context.exec, options_.shape, gradients.output, gradients.input);
}

}  // namespace mylos
