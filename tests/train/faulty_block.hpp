// FaultyBlock: a block that leaves an infinity in one of its tensors, at chosen steps.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>
#include <memory>
#include <string>

#include "mylos/base/dispatch.hpp"
#include "mylos/model/chain/chain.hpp"
#include "support/device_values.hpp"

namespace mylos::testing_support {

struct FaultPlan {
  std::string tensor;  // "output", "weight gradient", "bias gradient", "input gradient"
  std::uint64_t first_step = 0;
  std::uint64_t last_step = std::numeric_limits<std::uint64_t>::max();
};

inline void poison(const Tensor& tensor, std::int64_t element) {
  Kokkos::fence();
  dispatch(tensor.type(), [&]<class T>(TypeTag<T>) {
    const T bad = from_float<T>(std::numeric_limits<float>::infinity());
    test::copy_to_device(&bad, tensor.as<T>() + element, sizeof(T));
  });
}

class FaultyBlock final : public Block {
 public:
  FaultyBlock(std::shared_ptr<const Block> inner, FaultPlan plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  [[nodiscard]] const Signature& signature() const override { return inner_->signature(); }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return inner_->parameters(); }
  [[nodiscard]] std::vector<BufferSpec> buffers() const override { return inner_->buffers(); }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override {
    return inner_->cost(engines, rows);
  }
  void forward(const StepContext& context, const BlockMemory& memory) const override {
    inner_->forward(context, memory);
    if (strikes(context, "output")) poison(memory.output, memory.output.size() / 2);
  }
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override {
    inner_->backward(context, memory, gradients);
    if (strikes(context, "weight gradient")) poison(gradients.weights["weight"], 3);
    if (strikes(context, "bias gradient")) poison(gradients.weights["bias"], 1);
    if (strikes(context, "input gradient")) {
      // A whole row: where the ReLU below is shut, an infinity does not pass.
      for (std::int64_t i = 0; i < gradients.input.columns(); ++i) poison(gradients.input, i);
    }
  }

 private:
  [[nodiscard]] bool strikes(const StepContext& context, const char* tensor) const {
    if (plan_.tensor != tensor) return false;
    std::uint64_t step = 0;
    test::copy_to_host(context.step, &step, sizeof(step));
    return step >= plan_.first_step && step <= plan_.last_step;
  }

  std::shared_ptr<const Block> inner_;
  FaultPlan plan_;
};

inline void make_faulty(Chain& chain, std::size_t block, const FaultPlan& plan) {
  chain.blocks[block] = std::make_unique<FaultyBlock>(std::move(chain.blocks[block]), plan);
}

}  // namespace mylos::testing_support
