#include "mylos/model/layers/gather/gather_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/grid/boxes/whole_grid.hpp"

namespace mylos {
namespace {

Signature signature_of(const GatherOptions& options) {
  check(options.shape);
  return {.name = options.name,
          .kind = "gather",
          .inputs = options.shape.inner.columns(),
          .outputs = outer_grid(options.shape).columns(),
          .input_type = options.type,
          .output_type = options.type,
          .compute_type = options.type};
}

struct GatherPieces {
  GatherPieces(const Signature& signature, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    doubles = pieces.take_tensor(DType::fp64, rows, signature.outputs);
  }

  Pieces pieces;
  Tensor doubles;
};

}  // namespace

GatherBlock::GatherBlock(GatherOptions options)
    : options_(std::move(options)), signature_(signature_of(options_)) {}

BlockCost GatherBlock::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  cost.forward_workspace = GatherPieces(signature_, rows, nullptr).pieces.bytes();
  return cost;
}

std::vector<SampleCall> GatherBlock::sample_calls(std::int64_t rows, const BlockPass& pass) const {
  if (pass.is_backward) return {};
  return {{.bytes = sizeof(double) * static_cast<std::size_t>(rows * signature_.outputs), .is_sum = true}};
}

void GatherBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("gather forward");
  const GatherPieces own(signature_, memory.input.rows(), memory.workspace);
  spread_box(context.exec, options_.shape, memory.input, own.doubles);
  if (context.sample_ranks != nullptr) context.sample_ranks->add_up(context.exec, own.doubles);
  take_doubles(context.exec, own.doubles, memory.output);
}

void GatherBlock::backward(const StepContext& context, const BlockMemory& /*memory*/,
                           const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("gather backward");
  take_box(context.exec, options_.shape, gradients.output, static_cast<float>(options_.boxes),
           gradients.input);
}

}  // namespace mylos
