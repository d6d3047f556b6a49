#include "mylos/model/chain/chain_cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/alignment.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

void require_countable(const Signature& signature, std::int64_t rows) {
  const std::int64_t widest = std::max({signature.inputs, signature.outputs, signature.skip_inputs});
  if (widest <= max_numbers / std::max<std::int64_t>(1, rows)) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("layer '{}': {} rows of {} numbers exceed every memory.budget; use a smaller "
                          "data.micro_batch, or a smaller layer",
                          signature.name, rows, widest));
}

/// Refuses a cost that no arena can be laid out by: the blocks of a program's layers state it too.
BlockCost checked_cost(const Block& block, const Engines& engines, std::int64_t rows) {
  BlockCost cost = block.cost(engines, rows);
  std::vector<std::size_t> bytes{cost.output_bytes, cost.forward_workspace};
  for (const SavedVariant& variant : cost.variants)
    bytes.insert(bytes.end(), {variant.saved_bytes, variant.backward_workspace});
  const bool is_aligned =
      std::all_of(bytes.begin(), bytes.end(), [](std::size_t each) { return aligned_bytes(each) == each; });
  if (is_aligned && !cost.variants.empty() && cost.output_bytes == output_bytes(block.signature(), rows))
    return cost;
  fail_input(
      errors::bad_call,
      "layer '{}' states a cost with {} variants and {} bytes of output; it needs a variant or more, the "
      "{} bytes of output_bytes(), and multiples of {} bytes in all",
      block.signature().name, cost.variants.size(), cost.output_bytes, output_bytes(block.signature(), rows),
      arena_alignment);
}

/// The rates of the machine in one type.
struct Roofline {
  double flops;  // per millisecond, as `bytes`
  double bytes;

  Roofline(const MachineRates& rates, DType type) : flops(rates.flops_in(type)), bytes(rates.bytes) {}

  [[nodiscard]] double time_of(double operations, double traffic) const {
    return std::max(operations / flops, traffic / bytes);
  }
};

double weight_bytes(const std::vector<ParameterSpec>& parameters) {
  double bytes = 0;
  for (const ParameterSpec& parameter : parameters) {
    bytes += static_cast<double>(parameter.size()) * static_cast<double>(size_of(parameter.type));
  }
  return bytes;
}

/// Forward reads input and weights, and writes and reads all tensors between them and the output. Backward
/// does so twice, for values and for gradients.
StageCost stage_cost(const Block& block, const BlockCost& cost, std::int64_t rows,
                     const MachineRates& rates) {
  const Signature& signature = block.signature();
  const double input =
      static_cast<double>(rows * signature.inputs) * static_cast<double>(size_of(signature.input_type)) +
      static_cast<double>(rows * signature.skip_inputs) * static_cast<double>(size_of(signature.skip_type));
  const auto all = static_cast<double>(cost.variants.front().saved_bytes);
  const double traffic =
      input + static_cast<double>(cost.output_bytes) + 2 * all + weight_bytes(block.parameters());
  const Roofline roofline(rates, signature.compute_type);
  StageCost stage;
  stage.output_bytes = cost.output_bytes;
  stage.forward_workspace = cost.forward_workspace;
  stage.forward_time = roofline.time_of(cost.forward_flops, traffic);
  stage.backward_time = roofline.time_of(cost.backward_flops, 2 * traffic);
  for (const SavedVariant& variant : cost.variants) {
    const double recompute_traffic = 2 * (all - static_cast<double>(variant.saved_bytes));
    stage.variants.push_back({variant.name, variant.saved_bytes, variant.backward_workspace,
                              roofline.time_of(variant.recompute_flops, std::max(0.0, recompute_traffic))});
  }
  return stage;
}

}  // namespace

Skips ChainCost::skips() const {
  std::vector<std::size_t> sources;
  for (const StageCost& block : blocks) sources.push_back(block.skip);
  return Skips(std::move(sources));
}

std::size_t convolution_code_bytes(const Chain& chain, const Engines& engines,
                                   std::span<const std::int64_t> samples) {
  std::vector<const Convolution*> counted;
  std::size_t bytes = 0;
  for (const auto& block : chain.blocks) {
    const Convolution* const convolution = block->convolution();
    if (convolution == nullptr) continue;
    const auto is_equal = [&](const Convolution* other) {
      return other->shape() == convolution->shape() && other->type() == convolution->type();
    };
    if (std::any_of(counted.begin(), counted.end(), is_equal)) continue;
    counted.push_back(convolution);
    bytes += convolution->code_bytes(engines, samples);
  }
  return bytes;
}

ChainCost chain_cost(const Chain& chain, const Engines& engines, std::int64_t rows,
                     const MachineRates& rates) {
  ChainCost cost;
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    const Block& block = *chain.blocks[i];
    require_countable(block.signature(), rows);
    cost.blocks.push_back(stage_cost(block, checked_cost(block, engines, rows), rows, rates));
    cost.blocks.back().skip = chain.skip_of(i);
  }
  require_countable(chain.head->signature(), rows);
  const LossCost loss = chain.head->cost(engines, rows);
  cost.loss_workspace = loss.workspace;
  const double traffic = 2 * static_cast<double>(rows * chain.head->signature().inputs) *
                             static_cast<double>(size_of(chain.head->signature().input_type)) +
                         3 * static_cast<double>(loss.workspace);
  cost.loss_time = Roofline(rates, chain.head->signature().compute_type).time_of(loss.flops, traffic);
  return cost;
}

}  // namespace mylos
