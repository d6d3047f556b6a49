// The machine's GEMM engine, which asks for more workspace than it needs and overwrites all of it; optionally
// one that passes gradients through GELU.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "support/device_values.hpp"

namespace mylos::test {

class ScribblingGemm final : public GemmEngine {
 public:
  explicit ScribblingGemm(bool passes_gelu = false) : passes_gelu_(passes_gelu) {}
  operator Engines() {
    GemmEngine& gemm = *this;
    return Engines(gemm);
  }
  [[nodiscard]] std::string_view name() const override { return "scribbling"; }
  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_->sums_rows(problem);
  }
  [[nodiscard]] bool multiplies_by_gelu(const GemmProblem& problem) const override {
    return passes_gelu_ && form_of(problem) == GemmForm::input_gradient;
  }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_->workspace_bytes(problem) + static_cast<std::size_t>(problem.m) + 1;  // not a round number
  }
  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    GemmProblem product = problem;
    product.gelu_derivative = false;
    engine_->run(execution, product, operands, workspace);
    if (problem.gelu_derivative) {
      const ConstTensor input(operands.gelu_input, problem.c, problem.m, problem.n);
      const Tensor gradient(operands.c, problem.c, problem.m, problem.n);
      activation_backward(execution, Activation::gelu_tanh, input, gradient, gradient, {}, false, {});
    }
    execution.fence();
    const std::vector<std::byte> rubbish(workspace_bytes(problem), std::byte{0xff});
    copy_to_device(rubbish.data(), workspace, rubbish.size());
  }
  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    return engine_->batch_workspace_bytes(batch) + static_cast<std::size_t>(batch.one.m) + 1;
  }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    engine_->run_batched(execution, batch, first, workspace);
    execution.fence();
    const std::vector<std::byte> rubbish(batch_workspace_bytes(batch), std::byte{0xff});
    copy_to_device(rubbish.data(), workspace, rubbish.size());
  }

 private:
  bool passes_gelu_;
  std::unique_ptr<GemmEngine> engine_ = make_gemm_engine({});
};

}  // namespace mylos::test
