// A product engine that says it has batches, or has none, whatever the machine's own has: devices choose by
// it how attention is computed.
#pragma once

#include <memory>
#include <utility>

#include "mylos/kernels/gemm.hpp"

namespace mylos::test {

class BatchingEngine final : public GemmEngine {
 public:
  explicit BatchingEngine(bool batches) : batches_(batches) {}

  [[nodiscard]] std::string_view name() const override { return own_->name(); }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return own_->workspace_bytes(problem);
  }
  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    own_->run(execution, problem, operands, workspace);
  }
  [[nodiscard]] bool batches() const override { return batches_; }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    own_->run_batched(execution, batch, first, workspace);
  }

 private:
  bool batches_;
  std::unique_ptr<GemmEngine> own_ = make_gemm_engine({});
};

}  // namespace mylos::test
