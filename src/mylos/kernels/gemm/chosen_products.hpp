// Which of several engines computes each product, as was chosen for whole micro-batches.
#pragma once

#include <optional>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

class ChosenProducts {
 public:
  /// In place of an earlier choice for the same product.
  void choose(const GemmProblem& problem, std::size_t engine) {
    std::erase_if(all_, [&](const Chosen& other) { return same_product(other.problem, problem); });
    all_.push_back({problem, engine});
  }

  /// What is chosen for a micro-batch goes for ragged ones: of several, the smallest that has as many
  /// samples.
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

  /// Rows of the micro-batch that a product is of.
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
