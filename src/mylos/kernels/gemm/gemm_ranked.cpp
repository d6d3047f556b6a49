#include "mylos/kernels/gemm/gemm_ranked.hpp"

#include <utility>

#include "mylos/kernels/gemm/chosen_engines.hpp"

namespace mylos {
namespace {

class RankedGemm final : public GemmEngine {
 public:
  RankedGemm(std::string name, std::vector<std::unique_ptr<GemmEngine>> rivals)
      : name_(std::move(name)), engines_(std::move(rivals)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view engine_of(const GemmProblem& problem) const override {
    return engine_for(problem).engine_of(problem);
  }

  [[nodiscard]] std::vector<GemmEngine*> alternatives() override {
    std::vector<GemmEngine*> all;
    for (const auto& engine : engines_) all.push_back(engine.get());
    return all;
  }

  bool choose(const GemmProblem& problem, std::string_view algorithm) override {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      if (engines_[i]->engine_of(problem) != algorithm) continue;
      chosen_.choose(problem, i);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engines_.front()->sums_rows(problem);
  }
  [[nodiscard]] bool multiplies_by_gelu(const GemmProblem& problem) const override {
    return engines_.front()->multiplies_by_gelu(problem);
  }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engines_.front()->workspace_bytes(problem);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    engine_for(problem).run(execution, problem, operands, workspace);
  }

  [[nodiscard]] bool batches() const override { return engines_.front()->batches(); }
  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    return engines_.front()->batch_workspace_bytes(batch);
  }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    engines_.front()->run_batched(execution, batch, first, workspace);
  }

 private:
  [[nodiscard]] GemmEngine& engine_for(const GemmProblem& problem) const {
    return *engines_[chosen_.engine_of(problem).value_or(0)];
  }

  std::string name_;
  std::vector<std::unique_ptr<GemmEngine>> engines_;
  ChosenEngines chosen_;
};

}  // namespace

std::unique_ptr<GemmEngine> make_ranked_gemm(std::string name,
                                             std::vector<std::unique_ptr<GemmEngine>> rivals) {
  return std::make_unique<RankedGemm>(std::move(name), std::move(rivals));
}

}  // namespace mylos
