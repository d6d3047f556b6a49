#include "mylos/model/layers/upsample/upsample_block.hpp"

#include "mylos/base/device/region.hpp"

namespace mylos {
namespace {

GridShape output_of(const UpsampleShape& shape) {
  check(shape);
  return output_grid(shape);
}

std::optional<SplitUpsample> split_upsample_of(const UpsampleOptions& options) {
  if (!options.part.is_split()) return std::nullopt;
  std::optional<SplitUpsample> result(split(options.shape, options.part));
  if (result->input.none()) result.reset();
  return result;
}

}  // namespace

struct UpsampleBlock::Forward {
  Forward(const UpsampleBlock& block, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    if (!block.split_) return;
    const Halo& halo = block.split_->input;
    extended = halo.take_extended(pieces, block.options_.type, rows);
    faces = pieces.take_bytes(halo.workspace_bytes(block.options_.type, rows));
  }

  Pieces pieces;
  Tensor extended;  // input
  std::byte* faces = nullptr;
};

struct UpsampleBlock::Backward {
  Backward(const UpsampleBlock& block, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    if (!block.split_) return;
    const DType type = block.options_.type;
    gradient = block.split_->output.take_extended(pieces, type, rows);
    input_gradient = block.split_->input.take_extended(pieces, type, rows);
    faces = pieces.take_bytes(block.split_->output.workspace_bytes(type, rows));
  }

  Pieces pieces;
  Tensor gradient, input_gradient;  // with the points around them
  std::byte* faces = nullptr;
};

UpsampleBlock::UpsampleBlock(UpsampleOptions options)
    : options_(std::move(options)),
      split_(split_upsample_of(options_)),
      output_(output_of(options_.shape)),
      signature_{.name = options_.name,
                 .kind = "upsample",
                 .inputs = options_.shape.input.columns(),
                 .outputs = output_.columns(),
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

std::vector<SampleCall> UpsampleBlock::sample_calls(std::int64_t rows, const BlockPass& pass) const {
  std::vector<SampleCall> calls;
  if (!split_ || (pass.is_backward && !pass.wants_input)) return calls;
  (pass.is_backward ? split_->output : split_->input).add_calls(options_.type, rows, calls);
  return calls;
}

BlockCost UpsampleBlock::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  cost.forward_workspace = Forward(*this, rows, nullptr).pieces.bytes();
  cost.variants[0].backward_workspace = Backward(*this, rows, nullptr).pieces.bytes();
  return cost;
}

void UpsampleBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("upsample forward");
  if (!split_) return upsample_forward(context.exec, options_.shape, memory.input, memory.output);
  const Forward own(*this, memory.input.rows(), memory.workspace);
  split_->input.extend(context.exec, context.sample_ranks, memory.input, own.extended, own.faces);
  upsample_forward(context.exec, split_->forward, own.extended, memory.output);
}

void UpsampleBlock::backward(const StepContext& context, const BlockMemory& memory,
                             const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("upsample back");
  if (!split_) return upsample_backward(context.exec, options_.shape, gradients.output, gradients.input);
  const Backward own(*this, gradients.output.rows(), memory.workspace);
  split_->output.extend(context.exec, context.sample_ranks, gradients.output, own.gradient, own.faces);
  upsample_backward(context.exec, split_->backward, own.gradient, own.input_gradient);
  crop_grid(context.exec, split_->input.margins(), own.input_gradient, gradients.input);
}

}  // namespace mylos
