// Stores which of several engines was chosen for each GEMM of a complete micro-batch.
#pragma once

#include <optional>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

class ChosenEngines {
 public:
  /// Stores the choice and replaces an earlier one for the same GEMM.
  void choose(const GemmProblem& problem, std::size_t engine) {
    std::erase_if(all_, [&](const Chosen& other) { return same_product(other.problem, problem); });
    all_.push_back({problem, engine});
  }

  /// Returns the engine chosen for this GEMM, or for the same GEMM of a larger micro-batch: an incomplete
  /// micro-batch uses the choice for the smallest micro-batch that has at least its number of samples.
  [[nodiscard]] std::optional<std::size_t> engine_of(const GemmProblem& problem) const {
    const Chosen* best = nullptr;
    for (const Chosen& chosen : all_) {
      if (!is_same_with_fewer_samples(problem, chosen.problem)) continue;
      if (best == nullptr || samples_of(chosen.problem) < samples_of(best->problem)) best = &chosen;
    }
    return best == nullptr ? std::nullopt : std::optional(best->engine);
  }

 private:
  struct Chosen {
    GemmProblem problem;
    std::size_t engine;
  };

  /// Returns the number of rows of the GEMM's micro-batch.
  static std::int64_t samples_of(const GemmProblem& problem) {
    return problem.transpose_a ? problem.k : problem.m;
  }
  static bool is_same_with_fewer_samples(const GemmProblem& less, const GemmProblem& whole) {
    if (samples_of(less) > samples_of(whole)) return false;
    GemmProblem padded = less;
    (padded.transpose_a ? padded.k : padded.m) = samples_of(whole);
    return same_product(padded, whole);
  }

  std::vector<Chosen> all_;
};

}  // namespace mylos
