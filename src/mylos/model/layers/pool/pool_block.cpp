#include "mylos/model/layers/pool/pool_block.hpp"

#include <algorithm>

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

std::optional<SplitPool> split_pool_of(const PoolOptions& options) {
  if (options.pool == PoolType::global_average || !options.part.is_split()) return std::nullopt;
  std::optional<SplitPool> result(split(options.shape, options.part));
  if (result->none()) result.reset();
  return result;
}

/// The workspace of an average over the grid.
struct AveragePieces {
  AveragePieces(const PoolOptions& options, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    kernels = pieces.take_bytes(global_average_workspace(options.shape.input, rows));
    if (options.part.is_split()) sums = pieces.take_tensor(DType::fp64, rows, options.shape.input.channels);
  }

  Pieces pieces;
  std::byte* kernels;
  Tensor sums;  // of a box, then of all
};

}  // namespace

struct PoolBlock::Forward {
  Forward(const PoolBlock& block, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    std::size_t bytes = block.workspace(rows).forward;
    if (block.split_) {
      const Halo& halo = block.split_->input;
      extended = halo.take_extended(pieces, block.options_.type, rows);
      bytes = std::max(bytes, halo.workspace_bytes(block.options_.type, rows));
    }
    kernels = pieces.take_bytes(bytes);
  }

  Pieces pieces;
  Tensor extended;     // input
  std::byte* kernels;  // and faces
};

struct PoolBlock::Backward {
  Backward(const PoolBlock& block, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    std::size_t bytes = block.workspace(rows).backward;
    if (block.split_) {
      const Halo& seen = block.split_->seen;
      const Halo& windows = block.split_->output;
      const DType type = block.options_.type;
      if (block.options_.pool == PoolType::max) input = seen.take_extended(pieces, type, rows);
      if (block.extends_output()) output = windows.take_extended(pieces, type, rows);
      gradient = windows.take_extended(pieces, type, rows);
      input_gradient = seen.take_extended(pieces, type, rows);
      bytes = std::max({bytes, seen.workspace_bytes(type, rows), windows.workspace_bytes(type, rows)});
    }
    kernels = pieces.take_bytes(bytes);
  }

  Pieces pieces;
  Tensor input, output, gradient, input_gradient;  // of the windows that see the box, and their points
  std::byte* kernels;                              // and faces
};

PoolBlock::PoolBlock(PoolOptions options)
    : options_(std::move(options)),
      split_(split_pool_of(options_)),
      output_(output_of(options_)),
      signature_{.name = options_.name,
                 .kind = kind_of(options_.pool),
                 .inputs = options_.shape.input.columns(),
                 .outputs = output_.columns(),
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

bool PoolBlock::extends_output() const {
  return split_ && options_.pool == PoolType::max && max_pool_reads_output(options_.shape);
}

PoolWorkspace PoolBlock::workspace(std::int64_t rows) const {
  if (options_.pool == PoolType::max)
    return max_pool_workspace(options_.shape, options_.part, options_.type, rows);
  return average_pool_workspace(options_.shape, options_.part, rows);
}

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
  cost.forward_workspace = Forward(*this, rows, nullptr).pieces.bytes();
  cost.forward_flops = samples * pool_steps(options_.shape);
  cost.backward_flops = (is_max ? 2 : 1) * cost.forward_flops;
  cost.repeated_flops = is_max ? cost.forward_flops : 0;  // the search for the maxima
  cost.variants.push_back({"all", 0, Backward(*this, rows, nullptr).pieces.bytes(), 0});
  return cost;
}

void PoolBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("pool forward");
  if (options_.pool == PoolType::global_average) return average(context, memory);
  const Forward own(*this, memory.input.rows(), memory.workspace);
  ConstTensor input = memory.input;
  if (split_) {
    split_->input.extend(context.exec, context.sample_ranks, memory.input, own.extended, own.kernels);
    input = own.extended;
  }
  const PoolShape& shape = split_ ? split_->forward : options_.shape;
  const auto pool = options_.pool == PoolType::max ? max_pool_forward : average_pool_forward;
  pool(context.exec, shape, input, memory.output, own.kernels);
}

void PoolBlock::average(const StepContext& context, const BlockMemory& memory) const {
  const GridShape& grid = options_.shape.input;
  const AveragePieces own(options_, memory.input.rows(), memory.workspace);
  if (!options_.part.is_split())
    return global_average_forward(context.exec, grid, memory.input, memory.output, own.kernels);
  global_sums(context.exec, grid, memory.input, own.sums.as<double>(), own.kernels);
  if (context.sample_ranks != nullptr) context.sample_ranks->add_up(context.exec, own.sums);
  const std::int64_t points = options_.part.whole_points(grid.extent);
  average_of_sums(context.exec, points, own.sums.as<double>(), memory.output);
}

std::vector<SampleCall> PoolBlock::sample_calls(std::int64_t rows, const BlockPass& pass) const {
  std::vector<SampleCall> calls;
  if (options_.pool == PoolType::global_average) {
    if (!options_.part.is_split() || pass.is_backward) return calls;
    const auto sums = static_cast<std::size_t>(rows * options_.shape.input.channels);
    return {{.bytes = sizeof(double) * sums, .is_sum = true}};
  }
  if (!split_ || (pass.is_backward && !pass.wants_input)) return calls;
  if (!pass.is_backward) {
    split_->input.add_calls(options_.type, rows, calls);
    return calls;
  }
  if (options_.pool == PoolType::max) split_->seen.add_calls(options_.type, rows, calls);
  if (extends_output()) split_->output.add_calls(options_.type, rows, calls);
  split_->output.add_calls(options_.type, rows, calls);
  return calls;
}

void PoolBlock::pool_backward(const StepContext& context, const PoolShape& shape, const ConstTensor& x,
                              const ConstTensor& y, const ConstTensor& dy, const Tensor& dx,
                              std::byte* kernels) const {
  if (options_.pool == PoolType::max) return max_pool_backward(context.exec, shape, x, y, dy, dx, kernels);
  average_pool_backward(context.exec, shape, dy, dx, kernels);
}

void PoolBlock::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("pool backward");
  if (options_.pool == PoolType::global_average) {
    const GridShape& grid = options_.shape.input;
    const double mean_points = static_cast<double>(options_.part.whole_points(grid.extent)) /
                               static_cast<double>(options_.part.count());
    return global_average_backward(context.exec, grid, gradients.output, gradients.input, mean_points);
  }
  const Backward own(*this, memory.input.rows(), memory.workspace);
  if (!split_)
    return pool_backward(context, options_.shape, memory.input, memory.output, gradients.output,
                         gradients.input, own.kernels);
  const auto extend = [&](const Halo& halo, const ConstTensor& matrix, const Tensor& extended) {
    if (!extended.empty()) halo.extend(context.exec, context.sample_ranks, matrix, extended, own.kernels);
  };
  extend(split_->seen, memory.input, own.input);
  extend(split_->output, memory.output, own.output);
  extend(split_->output, gradients.output, own.gradient);
  pool_backward(context, split_->backward, own.input, own.output, own.gradient, own.input_gradient,
                own.kernels);
  crop_grid(context.exec, split_->seen.margins(), own.input_gradient, gradients.input);
}

}  // namespace mylos
