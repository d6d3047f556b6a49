#include "mylos/model/layers/pool/pool_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/base/pieces.hpp"

namespace mylos {
namespace {

GridShape output_of(const PoolOptions& options) {
  if (options.pool == PoolType::global_average) return {.channels = options.shape.input.channels};
  check(options.shape);
  return output_grid(options.shape);
}

std::string_view kind_of(PoolType pool) {
  return pool == PoolType::max ? "max_pool" : pool == PoolType::average ? "average_pool" : "global_pool";
}

/// The workspace of an average over the grid.
struct AveragePieces {
  AveragePieces(const PoolOptions& options, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    kernels = pieces.take_bytes(global_average_workspace(options.shape.input, rows));
    if (options.boxes > 1) sums = pieces.take_tensor(DType::fp64, rows, options.shape.input.channels);
  }

  Pieces pieces;
  std::byte* kernels;
  Tensor sums;  // of a box, then of all
};

}  // namespace

PoolBlock::PoolBlock(PoolOptions options)
    : options_(std::move(options)),
      output_(output_of(options_)),
      signature_{.name = options_.name,
                 .kind = kind_of(options_.pool),
                 .inputs = options_.shape.input.columns(),
                 .outputs = output_.columns(),
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

BlockCost PoolBlock::cost(const Engines&, std::int64_t rows) const {
  BlockCost cost;
  cost.output_bytes = output_bytes(signature_, rows);
  const auto samples = static_cast<double>(rows);
  if (options_.pool == PoolType::global_average) {
    cost.forward_workspace = AveragePieces(options_, rows, nullptr).pieces.bytes();
    cost.forward_flops = samples * static_cast<double>(signature_.inputs);
    cost.backward_flops = cost.forward_flops;
    cost.variants.push_back({"all", 0, 0, 0});
    return cost;
  }
  const bool is_max = options_.pool == PoolType::max;
  const PoolWorkspace workspace = is_max ? max_pool_workspace(options_.shape, options_.type, rows)
                                         : average_pool_workspace(options_.shape, rows);
  cost.forward_workspace = workspace.forward;
  cost.forward_flops = samples * pool_steps(options_.shape);
  cost.backward_flops = (is_max ? 2 : 1) * cost.forward_flops;
  cost.repeated_flops = is_max ? cost.forward_flops : 0;  // the search for the maxima
  cost.variants.push_back({"all", 0, workspace.backward, 0});
  return cost;
}

void PoolBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("pool forward");
  switch (options_.pool) {
    case PoolType::max:
      return max_pool_forward(context.exec, options_.shape, memory.input, memory.output, memory.workspace);
    case PoolType::average:
      return average_pool_forward(context.exec, options_.shape, memory.input, memory.output,
                                  memory.workspace);
    case PoolType::global_average:
      return average(context, memory);
  }
}

void PoolBlock::average(const StepContext& context, const BlockMemory& memory) const {
  const GridShape& grid = options_.shape.input;
  const AveragePieces own(options_, memory.input.rows(), memory.workspace);
  if (options_.boxes == 1)
    return global_average_forward(context.exec, grid, memory.input, memory.output, own.kernels);
  global_sums(context.exec, grid, memory.input, own.sums.as<double>(), own.kernels);
  if (context.sample_ranks != nullptr) context.sample_ranks->add_up(context.exec, own.sums);
  average_of_sums(context.exec, options_.boxes * grid.points(), own.sums.as<double>(), memory.output);
}

std::vector<SampleCall> PoolBlock::sample_calls(std::int64_t rows, const BlockPass& pass) const {
  if (options_.boxes == 1 || pass.is_backward) return {};
  const auto sums = static_cast<std::size_t>(rows * options_.shape.input.channels);
  return {{.bytes = sizeof(double) * sums, .is_sum = true}};
}

void PoolBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("pool backward");
  switch (options_.pool) {
    case PoolType::max:
      return max_pool_backward(context.exec, options_.shape, memory.input, memory.output, gradients.output,
                               gradients.input, memory.workspace);
    case PoolType::average:
      return average_pool_backward(context.exec, options_.shape, gradients.output, gradients.input,
                                   memory.workspace);
    case PoolType::global_average:
      return global_average_backward(context.exec, options_.shape.input, gradients.output, gradients.input);
  }
}

}  // namespace mylos
