// The machine's GEMM engine, in which tests replace one function.
#pragma once

#include <memory>

#include "mylos/kernels/engines/engines.hpp"

namespace mylos::test {

class OwnEngine : public GemmEngine {
 public:
  operator Engines() {
    GemmEngine& gemm = *this;
    return Engines(gemm);
  }
  [[nodiscard]] std::string_view name() const override { return own_->name(); }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return own_->workspace_bytes(problem);
  }
  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    own_->run(execution, problem, operands, workspace);
  }

 protected:
  [[nodiscard]] GemmEngine& own() const { return *own_; }

 private:
  std::unique_ptr<GemmEngine> own_ = make_gemm_engine({});
};

}  // namespace mylos::test
