// A product engine that says it has batches, or has none, whatever the machine's own has: devices choose by
// it how attention is computed.
#pragma once

#include "kernels/own_engine.hpp"

namespace mylos::test {

class BatchingEngine final : public OwnEngine {
 public:
  explicit BatchingEngine(bool batches) : batches_(batches) {}

  [[nodiscard]] bool batches() const override { return batches_; }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    own().run_batched(execution, batch, first, workspace);
  }

 private:
  bool batches_;
};

}  // namespace mylos::test
