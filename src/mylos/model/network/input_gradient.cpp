#include "mylos/model/network/input_gradient.hpp"

#include <algorithm>

#include "mylos/base/pieces.hpp"
#include "mylos/model/chain/chain_cost.hpp"

namespace mylos {
namespace {

PlacedSchedule placed(const Chain& chain, const Engines& engines, std::int64_t samples) {
  return {chain, chain_cost(chain, engines, samples * chain.rows_per_sample), store_all(chain.blocks.size())};
}

/// Returns the bytes of a block's gradients; adds them to `named` if there is memory.
std::size_t take_gradients(const Block& block, void* memory, std::vector<NamedTensor>* named) {
  Pieces pieces(memory);
  for (const ParameterSpec& spec : block.parameters()) {
    const Tensor gradient = pieces.take_tensor(spec.gradient_type, spec.rows, spec.columns);
    if (named != nullptr) named->emplace_back(spec.name, gradient);
  }
  return pieces.bytes();
}

}  // namespace

std::size_t InputGradient::gradient_bytes(const Chain& chain) {
  std::size_t bytes = 0;
  for (const auto& block : chain.blocks) bytes = std::max(bytes, take_gradients(*block, nullptr, nullptr));
  return bytes;
}

std::size_t InputGradient::memory_bytes(const Chain& chain, const Engines& engines, std::int64_t samples) {
  return placed(chain, engines, samples).placement.bytes + gradient_bytes(chain) +
         input_gradient_bytes(chain, samples);
}

InputGradient::InputGradient(const Chain& chain, const PassMemory::StageTensors& weights,
                             const BufferStore& buffers, const Engines& engines, std::int64_t samples)
    : engines_(engines),
      placed_(placed(chain, engines, samples)),
      activations_("activations", placed_.placement.bytes),
      gradients_arena_("unused gradients", gradient_bytes(chain)),
      input_gradients_("input gradients", input_gradient_bytes(chain, samples)),
      memory_{weights, gradients_, buffers, activations_, input_gradients_, samples} {
  place_gradients();
}

void InputGradient::place_gradients() {
  for (const auto& block : placed_.chain.blocks)
    take_gradients(*block, gradients_arena_.data(), &named_.emplace_back());
  named_.emplace_back();  // of the head, which has no weights
  for (const std::vector<NamedTensor>& stage : named_) gradients_.emplace_back(stage);
}

StepContext InputGradient::context(const Execution& exec) const {
  return {.exec = exec, .engines = engines_, .training = false};
}

ConstTensor InputGradient::forward(const Execution& exec, const ConstTensor& input) {
  input_ = input;
  const SchedulePass run = pass();
  for (std::size_t i = 0; i < placed_.loss; ++i) run.forward(context(exec), i, false);
  return run.output();
}

ConstTensor InputGradient::backward(const Execution& exec) {
  const SchedulePass run = pass();
  for (std::size_t i = placed_.loss + 1; i < placed_.schedule.size(); ++i)
    run.backward(context(exec), i, {.weights = false, .input = true});
  return run.input_gradient(0);
}

}  // namespace mylos
