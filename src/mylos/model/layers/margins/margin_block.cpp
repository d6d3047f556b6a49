#include "mylos/model/layers/margins/margin_block.hpp"

#include "mylos/base/device/region.hpp"

namespace mylos {
namespace {

Signature signature_of(const MarginOptions& options) {
  check(options.shape);
  check(GridEdges{options.shape.inner, options.shape.before, options.edges});
  const bool pads = options.change == MarginChange::pad;
  const std::int64_t inner = options.shape.inner.columns();
  const std::int64_t outer = outer_grid(options.shape).columns();
  return {.name = options.name,
          .kind = pads ? "pad" : "crop",
          .inputs = pads ? inner : outer,
          .outputs = pads ? outer : inner,
          .input_type = options.type,
          .output_type = options.type,
          .compute_type = options.type};
}

}  // namespace

MarginBlock::MarginBlock(MarginOptions options)
    : options_(std::move(options)), signature_(signature_of(options_)) {}

GridShape MarginBlock::output() const {
  return options_.change == MarginChange::pad ? outer_grid(options_.shape) : options_.shape.inner;
}

BlockCost MarginBlock::cost(const Engines&, std::int64_t rows) const {
  return elementwise_cost(signature_, rows);
}

void MarginBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("margin forward");
  if (!is_plain()) return extend_grid(context.exec, edges(), memory.input, memory.output);
  if (options_.change == MarginChange::pad)
    return pad_grid(context.exec, options_.shape, memory.input, memory.output);
  crop_grid(context.exec, options_.shape, memory.input, memory.output);
}

void MarginBlock::backward(const StepContext& context, const BlockMemory&,
                           const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("margin backward");
  if (!is_plain()) return fold_grid(context.exec, edges(), gradients.output, gradients.input);
  if (options_.change == MarginChange::pad)
    return crop_grid(context.exec, options_.shape, gradients.output, gradients.input);
  pad_grid(context.exec, options_.shape, gradients.output, gradients.input);
}

}  // namespace mylos
