// The engines of hosts with oneDNN: oneDNN or the tiles compute each GEMM, according to the table or to
// measurements.
#include <algorithm>
#include <utility>

#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/gemm/chosen_engines.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/tiles/gemm_table.hpp"
#include "mylos/kernels/vendor/host/host_engines.hpp"

namespace mylos {
namespace {

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
    const std::vector<GemmEngine*> all = alternatives();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->engine_of(problem) != engine) continue;
      chosen_.choose(problem, i);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_for(problem).sums_rows(problem);
  }

  /// Sufficient for both engines, because a later measurement may choose either.
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const std::size_t onednn = onednn_->workspace_bytes(problem);
    if (!measures_ && !table_.tiles_may_be_faster(problem)) return onednn;
    return std::max(onednn, tiles_->workspace_bytes(problem));
  }

  [[nodiscard]] std::size_t packed_bytes(const GemmProblem& problem) const override {
    return engine_for(problem).packed_bytes(problem);
  }
  void pack(const Execution& execution, const GemmProblem& problem, const void* b, void* packed) override {
    engine_for(problem).pack(execution, problem, b, packed);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    engine_for(problem).run(execution, problem, operands, workspace);
  }

  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    return batch.together ? tiles_->batch_workspace_bytes(batch) : workspace_bytes(batch.one);
  }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    if (batch.together) return tiles_->run_batched(execution, batch, first, workspace);
    GemmEngine::run_batched(execution, batch, first, workspace);
  }

  [[nodiscard]] bool onednn_has_all_instructions() const { return table_.onednn_has_all_instructions(); }

 private:
  [[nodiscard]] GemmEngine& engine_for(const GemmProblem& problem) const {
    if (const auto chosen = chosen_.engine_of(problem)) return *chosen == 0 ? *onednn_ : *tiles_;
    return table_.tiles_are_faster(problem) ? *tiles_ : *onednn_;
  }

  bool measures_;
  std::unique_ptr<GemmEngine> onednn_ = make_onednn_gemm();
  std::unique_ptr<GemmEngine> tiles_ = tiled_gemm()();
  GemmTable table_;
  ChosenEngines chosen_;
};

}  // namespace

MakeEngines onednn_engines() {
  return [](EngineUse use, AttentionSums) {
    if (use == EngineUse::named)
      return std::make_unique<EngineSet>(make_onednn_gemm(), nullptr, make_host_convolution());
    auto gemm = std::make_unique<ChosenGemm>(use == EngineUse::measured);
    // If oneDNN is limited to fewer instructions than the tiles, these compute the convolutions as well.
    auto convolution = gemm->onednn_has_all_instructions() ? make_host_convolution() : nullptr;
    return std::make_unique<EngineSet>(std::move(gemm), nullptr, std::move(convolution));
  };
}

}  // namespace mylos
