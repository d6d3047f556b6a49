// A GEMM engine that claims to have batches, or none, regardless of the machine's engine. On devices this
// selects the implementation of attention.
#pragma once

#include "kernels/own_engine.hpp"

namespace mylos::test {

class BatchingEngine final : public OwnEngine {
 public:
  explicit BatchingEngine(bool batches) : batches_(batches) {}

  [[nodiscard]] bool batches() const override { return batches_; }
  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    return own().batch_workspace_bytes(batch);
  }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    own().run_batched(execution, batch, first, workspace);
  }

 private:
  bool batches_;
};

}  // namespace mylos::test
