// Products on hosts that have oneDNN: each problem by oneDNN or by the tiles, as the table says or as was
// measured.
#include <algorithm>

#include "gemm_engines.hpp"
#include "gemm_table.hpp"

namespace mylos {
namespace {

/// Rows of the micro-batch that a product is of.
std::int64_t samples_of(const GemmProblem& problem) {
  return problem.transpose_a ? problem.k : problem.m;
}

/// What is measured of a micro-batch goes for ragged ones.
bool is_same_with_fewer_samples(const GemmProblem& less, const GemmProblem& whole) {
  if (samples_of(less) > samples_of(whole)) return false;
  GemmProblem padded = less;
  (padded.transpose_a ? padded.k : padded.m) = samples_of(whole);
  return same_product(padded, whole);
}

class ChosenGemm final : public GemmEngine {
 public:
  explicit ChosenGemm(bool measures) : measures_(measures) {}

  [[nodiscard]] std::string_view name() const override {
    return measures_ ? "measured: onednn and tiles" : "onednn and tiles";
  }

  [[nodiscard]] std::string_view engine_of(const GemmProblem& problem) const override {
    return engine_for(problem).engine_of(problem);
  }

  [[nodiscard]] std::vector<GemmEngine*> alternatives() override {
    return measures_ ? std::vector<GemmEngine*>{onednn_.get(), tiles_.get()} : std::vector<GemmEngine*>{};
  }

  bool choose(const GemmProblem& problem, std::string_view engine) override {
    for (GemmEngine* alternative : alternatives()) {
      if (alternative->engine_of(problem) != engine) continue;
      std::erase_if(chosen_, [&](const Chosen& other) { return same_product(other.problem, problem); });
      chosen_.push_back({problem, alternative});
      return true;
    }
    return false;
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_for(problem).sums_rows(problem);
  }

  /// Whatever will be measured: enough for both.
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const std::size_t onednn = onednn_->workspace_bytes(problem);
    if (!measures_ && !table_.tiles_may_be_faster(problem)) return onednn;
    return std::max(onednn, tiles_->workspace_bytes(problem));
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    engine_for(problem).run(execution, problem, operands, workspace);
  }

 private:
  struct Chosen {
    GemmProblem problem;
    GemmEngine* engine;
  };

  /// Of several micro-batches that were measured, the smallest that has as many samples.
  [[nodiscard]] GemmEngine& engine_for(const GemmProblem& problem) const {
    const Chosen* best = nullptr;
    for (const Chosen& chosen : chosen_) {
      if (!is_same_with_fewer_samples(problem, chosen.problem)) continue;
      if (best == nullptr || samples_of(chosen.problem) < samples_of(best->problem)) best = &chosen;
    }
    if (best != nullptr) return *best->engine;
    return table_.tiles_are_faster(problem) ? *tiles_ : *onednn_;
  }

  bool measures_;
  std::unique_ptr<GemmEngine> onednn_ = onednn_gemm()();
  std::unique_ptr<GemmEngine> tiles_ = tiled_gemm()();
  GemmTable table_;
  std::vector<Chosen> chosen_;
};

template <bool measures>
MakeGemm chosen_gemm() {
  if (onednn_gemm() == nullptr || tiled_gemm() == nullptr) return nullptr;
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<ChosenGemm>(measures)); };
}

}  // namespace

MakeGemm table_gemm() {
  return chosen_gemm<false>();
}

MakeGemm measured_gemm() {
  return chosen_gemm<true>();
}

}  // namespace mylos
