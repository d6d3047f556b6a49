// Where the time of a step goes: products by shape, kernels by name.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// Milliseconds by what they went into, added up over steps.
using Breakdown = std::map<std::string, double>;

/// Passes products and convolutions on to the deck's default engine, and books their times where there is a
/// book.
class TimedGemm final : public GemmEngine {
 public:
  TimedGemm();
  ~TimedGemm() override;

  [[nodiscard]] std::string_view name() const override { return engine_->name(); }
  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_->sums_rows(problem);
  }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_->workspace_bytes(problem);
  }
  void run(const Execution& exec, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override;
  [[nodiscard]] LibraryConvolution* convolutions() const override;

 private:
  std::unique_ptr<GemmEngine> engine_ = make_gemm_engine({});
  std::unique_ptr<LibraryConvolution> convolutions_;  // null where the engine's are
};

/// While it lives, the times of products and of kernels outside them go into the book. Kernels on a host are
/// done when they return. One at a time.
class Booking {
 public:
  explicit Booking(Breakdown& book);
  ~Booking();
  Booking(const Booking&) = delete;
  Booking& operator=(const Booking&) = delete;
};

}  // namespace mylos
