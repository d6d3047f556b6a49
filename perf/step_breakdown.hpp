// The time of a step by GEMM shape and kernel name.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// Milliseconds by part of the step, summed over steps.
using Breakdown = std::map<std::string, double>;

/// Forwards GEMMs and convolutions to the deck's default engine, and records their times if there is a book.
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

/// During its lifetime, the times of GEMMs and of other kernels are recorded in the book. Kernels on a host
/// are complete when they return. Only one may exist at a time.
class Booking {
 public:
  explicit Booking(Breakdown& book);
  ~Booking();
  Booking(const Booking&) = delete;
  Booking& operator=(const Booking&) = delete;
};

}  // namespace mylos
