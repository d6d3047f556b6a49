// Products on hosts that have oneDNN: each problem by oneDNN or by the tiles, whichever is faster.
#include "gemm_engines.hpp"

namespace mylos {
namespace {

class FasterHostGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "onednn and tiles"; }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_for(problem).sums_rows(problem);
  }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_for(problem).workspace_bytes(problem);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    engine_for(problem).run(execution, problem, operands, workspace);
  }

 private:
  [[nodiscard]] GemmEngine& engine_for(const GemmProblem& problem) const {
    return tiles_are_faster(problem) ? *tiles_ : *onednn_;
  }

  std::unique_ptr<GemmEngine> onednn_ = onednn_gemm()();
  std::unique_ptr<GemmEngine> tiles_ = tiled_gemm()();
};

}  // namespace

MakeGemm faster_host_gemm() {
  if (onednn_gemm() == nullptr || tiled_gemm() == nullptr) return nullptr;
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<FasterHostGemm>()); };
}

}  // namespace mylos
