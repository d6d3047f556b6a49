// The machine's product engine, but asking for more workspace than it needs and leaving rubbish in all of it.
#pragma once

#include "mylos/kernels/gemm.hpp"
#include "support/device_values.hpp"

namespace mylos::test {

class ScribblingGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "scribbling"; }
  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_->sums_rows(problem);
  }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_->workspace_bytes(problem) + static_cast<std::size_t>(problem.m) + 1;  // no round number
  }
  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    engine_->run(execution, problem, operands, workspace);
    execution.fence();
    const std::vector<std::byte> rubbish(workspace_bytes(problem), std::byte{0xff});
    copy_to_device(rubbish.data(), workspace, rubbish.size());
  }

 private:
  std::unique_ptr<GemmEngine> engine_ = make_gemm_engine({});
};

}  // namespace mylos::test
