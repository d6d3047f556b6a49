#include "mylos/model/layers/upsample/upsample_block.hpp"

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
  return elementwise_cost(signature_, rows);
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
