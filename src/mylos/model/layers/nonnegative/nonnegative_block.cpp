#include "mylos/model/layers/nonnegative/nonnegative_block.hpp"

#include <fmt/ranges.h>

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/pointwise/nonnegative.hpp"

namespace mylos {

NonnegativeBlock::NonnegativeBlock(NonnegativeOptions options)
    : options_(std::move(options)),
      chosen_(static_cast<std::size_t>(options_.channels), 0.0f),
      chosen_name_(fmt::format("channels {} of {}", fmt::join(options_.of, ","), options_.channels)),
      signature_{.name = options_.name,
                 .kind = "nonnegative",
                 .inputs = options_.width,
                 .outputs = options_.width,
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {
  for (const std::int64_t channel : options_.of) chosen_[static_cast<std::size_t>(channel)] = 1;
}

std::vector<BufferSpec> NonnegativeBlock::buffers() const {
  return {{.name = chosen_name_,
           .size = options_.channels,
           .role = BufferRole::constant,
           .values = [chosen = chosen_](std::int64_t first, std::span<float> numbers) {
             for (std::size_t i = 0; i < numbers.size(); ++i)
               numbers[i] = chosen[static_cast<std::size_t>(first) + i];
           }}};
}

BlockCost NonnegativeBlock::cost(const Engines&, std::int64_t rows) const {
  return elementwise_cost(signature_, rows);
}

void NonnegativeBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("nonnegative");
  nonnegative_forward(context.exec, options_.form, memory.buffers[chosen_name_].as<float>(),
                      options_.channels, memory.input, memory.output);
}

void NonnegativeBlock::backward(const StepContext& context, const BlockMemory& memory,
                                const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("nonnegative back");
  nonnegative_backward(context.exec, options_.form, memory.buffers[chosen_name_].as<float>(),
                       options_.channels, memory.input, gradients.output, gradients.input);
}

}  // namespace mylos
