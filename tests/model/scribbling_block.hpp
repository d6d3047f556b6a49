// A block that overwrites all memory that must not be read after its operation.
#pragma once

#include <memory>

#include "mylos/base/execution.hpp"
#include "mylos/model/chain/chain.hpp"
#include "support/device_values.hpp"

namespace mylos::test {

class ScribblingBlock final : public Block {
 public:
  explicit ScribblingBlock(std::shared_ptr<const Block> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const Signature& signature() const override { return inner_->signature(); }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return inner_->parameters(); }
  [[nodiscard]] std::vector<BufferSpec> buffers() const override { return inner_->buffers(); }
  [[nodiscard]] bool exchanges_in_passes() const override { return inner_->exchanges_in_passes(); }
  void move_state(const Execution& exec, const ParameterTensors& buffers,
                  const std::int32_t* apply) const override {
    inner_->move_state(exec, buffers, apply);
  }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override {
    return inner_->cost(engines, rows);
  }
  [[nodiscard]] std::optional<InputNorm> input_norm(const StepContext& context,
                                                    const BlockMemory& memory) const override {
    return inner_->input_norm(context, memory);
  }
  [[nodiscard]] bool computes_norm() const override { return inner_->computes_norm(); }
  void forward(const StepContext& context, const BlockMemory& memory) const override {
    inner_->forward(context, memory);
    const BlockCost cost = inner_->cost(context.engines, memory.input.rows());
    scribble(context, memory.workspace, cost.forward_workspace);
  }
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override {
    inner_->backward(context, memory, gradients);
    const SavedVariant variant = inner_->cost(context.engines, memory.input.rows()).variants[memory.variant];
    scribble(context, memory.workspace, variant.backward_workspace);
    scribble(context, memory.saved, variant.saved_bytes);
    scribble(context, memory.output.data(), memory.output.bytes());
    scribble(context, gradients.output.data(), gradients.output.bytes());
  }

 private:
  static void scribble(const StepContext& context, void* place, std::size_t bytes) {
    context.exec.fence();
    if (place == nullptr) return;
    const std::vector<std::byte> rubbish(bytes, std::byte{0xff});
    copy_to_device(rubbish.data(), static_cast<std::byte*>(place), bytes);
  }

  std::shared_ptr<const Block> inner_;
};

inline void scribble_between_operations(Chain& chain) {
  for (auto& block : chain.blocks) block = std::make_unique<ScribblingBlock>(std::move(block));
}

}  // namespace mylos::test
