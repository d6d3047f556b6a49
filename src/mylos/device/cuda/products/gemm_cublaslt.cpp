// GEMMs by cuBLASLt on NVIDIA devices: 16-bit operands on tensor cores, floats in full precision (never
// TF32).
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/device/cuda/products/cublaslt_product.hpp"
#include "mylos/device/cuda/products/nvidia_engines.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/gemm_ranked.hpp"
#include "mylos/kernels/gemm/product_row_sums.hpp"
#include "mylos/kernels/pointwise/activation.hpp"

namespace mylos {
namespace {

using cublaslt::Product;

/// The algorithm of a GEMM, and the engine's name for it.
struct NamedAlgorithm {
  GemmProblem problem;
  std::string algorithm;
  std::string name;
};

/// If several engines are measured against each other, one uses the library's best algorithm for each GEMM,
/// the next the second best, and so on (`rank`). By default a separate pass sums rows: it takes the time of
/// reading dy once, less than what the epilogues of GPT-2's GEMMs took (docs/gpu.md).
class CublasLtGemm final : public GemmEngine {
 public:
  explicit CublasLtGemm(std::optional<std::size_t> rank = {}, RowSums row_sums = RowSums::separate)
      : rank_(rank), row_sums_(row_sums) {
    cublaslt::check(cublasLtCreate(&handle_), "start");
  }
  ~CublasLtGemm() override {
    products_.clear();
    cublasLtDestroy(handle_);
  }
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;

  [[nodiscard]] std::string_view name() const override { return "cublaslt"; }

  /// Returns the library's algorithm for the GEMM without epilogue. With an epilogue, it is tried first.
  [[nodiscard]] std::string_view engine_of(const GemmProblem& problem) const override {
    return rank_ ? named_algorithm(problem).name : name();
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return cublaslt::can_sum_rows(problem);
  }

  [[nodiscard]] bool multiplies_by_gelu(const GemmProblem& problem) const override {
    return cublaslt::can_multiply_by_gelu(problem);
  }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const std::size_t row_sums = cublaslt::can_sum_rows(problem) ? cublaslt::row_sum_bytes(problem) : 0;
    const std::size_t trial = problem.c == DType::fp32 ? 0 : cublaslt::trial_bytes;
    return cublaslt::library_workspace_bytes + std::max(row_sums, trial);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    switch (product(execution, batch_of(problem, 1), operands, workspace)
                .run(handle_, execution, operands, workspace)) {
      case ProductWay::library_then_bias:
        return add_bias(execution, problem, operands);
      case ProductWay::library_then_sums:
        return sum_rows_of_a(execution, problem, operands.a, operands.row_sums, workspace);
      case ProductWay::library_then_gelu:
        return multiply_by_gelu(execution, problem, operands);
      case ProductWay::kokkos:
        run_by_kokkos(execution, problem, operands, workspace);
        if (problem.row_sums) sum_rows_of_a(execution, problem, operands.a, operands.row_sums, workspace);
        if (problem.gelu_derivative) multiply_by_gelu(execution, problem, operands);
        return;
      default:
        if (problem.relu) apply_relu(execution, problem, operands.c);
        if (problem.row_sums && problem.accumulate)
          add_row_sums(execution, problem, cublaslt::new_sums(workspace), operands.row_sums);
    }
  }

  [[nodiscard]] bool batches() const override { return true; }

  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    check_gemm_batch(batch);
    const ProductWay way =
        product(execution, batch, first, workspace).run(handle_, execution, first, workspace);
    if (way == ProductWay::kokkos) GemmEngine::run_batched(execution, batch, first, workspace);
  }

 private:
  static void add_bias(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands) {
    GemmProblem rest = problem;
    rest.accumulate = false;  // the library has done this
    auto* const c = static_cast<float*>(operands.c);
    dispatch(problem.bias_type, [&]<class Bias>(TypeTag<Bias>) {
      apply_epilogue(execution, rest, c, static_cast<const Bias*>(operands.bias), c);
    });
  }

  static void multiply_by_gelu(const Execution& execution, const GemmProblem& problem,
                               const GemmOperands& operands) {
    const ConstTensor input(operands.gelu_input, problem.c, problem.m, problem.n);
    const Tensor gradient(operands.c, problem.c, problem.m, problem.n);
    activation_backward(execution, Activation::gelu_tanh, input, gradient, gradient, {}, false, {});
  }

  void run_by_kokkos(const Execution& execution, const GemmProblem& whole, const GemmOperands& operands,
                     void* workspace) {
    GemmProblem problem = whole;
    problem.row_sums = problem.gelu_derivative = false;
    if (const MakeGemm make = kokkos_gemm(); make != nullptr && !kokkos_) kokkos_ = make();
    if (!kokkos_ || kokkos_->workspace_bytes(problem) > cublaslt::library_workspace_bytes) {
      fail_run(ErrorId::library_failed, "cuBLASLt cannot compute the GEMM {} x {} by {} x {} of {}{}",
               problem.m, problem.k, problem.k, problem.n, name_of(problem.a),
               kokkos_ ? "; kernels.gemm = \"kokkos\" computes it" : "");
    }
    kokkos_->run(execution, problem, operands, workspace);
  }

  Product& product(const Execution& execution, const GemmBatch& batch, const GemmOperands& operands,
                   void* workspace) {
    const ProductAlignments alignments = alignments_of(batch, operands);
    const auto found = std::find_if(products_.begin(), products_.end(),
                                    [&](const auto& product) { return product->is_for(batch, alignments); });
    if (found != products_.end()) return **found;
    check_gemm_problem(batch.one);
    const bool prefers = rank_ && batch.count == 1;
    return *products_.emplace_back(std::make_unique<Product>(
        handle_, execution, batch, operands, workspace,
        prefers ? named_algorithm(batch.one).algorithm : std::string_view(), row_sums_));
  }

  [[nodiscard]] const NamedAlgorithm& named_algorithm(const GemmProblem& problem) const {
    const auto found = std::find_if(algorithms_.begin(), algorithms_.end(), [&](const auto& algorithm) {
      return same_product(algorithm->problem, problem);
    });
    if (found != algorithms_.end()) return **found;
    const std::vector<std::string> names = cublaslt::algorithm_names(handle_, problem);
    const std::string algorithm = names.empty() ? "cublaslt" : names[std::min(*rank_, names.size() - 1)];
    const bool differs = row_sums_ == RowSums::in_epilogue && cublaslt::can_sum_rows(problem);
    algorithms_.push_back(std::make_unique<NamedAlgorithm>(
        NamedAlgorithm{problem, algorithm, differs ? algorithm + "+sums" : algorithm}));
    return *algorithms_.back();
  }

  cublasLtHandle_t handle_ = nullptr;
  std::optional<std::size_t> rank_;
  RowSums row_sums_;
  mutable std::vector<std::unique_ptr<NamedAlgorithm>> algorithms_;  // those requested so far
  std::vector<std::unique_ptr<Product>> products_;
  std::unique_ptr<GemmEngine> kokkos_;  // for GEMMs that the library refuses
};

/// Returns the engine that uses the fastest algorithm according to measurements. Weight gradients compete
/// twice: with row sums by a separate pass, and in the epilogue.
std::unique_ptr<GemmEngine> measured_cublaslt_gemm() {
  std::vector<std::unique_ptr<GemmEngine>> engines;
  for (const RowSums row_sums : {RowSums::separate, RowSums::in_epilogue}) {
    for (std::size_t rank = 0; rank < std::size_t{cublaslt::max_algorithms}; ++rank)
      engines.push_back(std::make_unique<CublasLtGemm>(rank, row_sums));
  }
  return make_ranked_gemm("measured: cublaslt", std::move(engines));
}

}  // namespace

MakeEngines cublaslt_engines() {
  return [](EngineUse use, AttentionSums sums) {
    std::unique_ptr<GemmEngine> gemm =
        use == EngineUse::measured ? measured_cublaslt_gemm() : std::make_unique<CublasLtGemm>();
    return std::make_unique<EngineSet>(std::move(gemm), cudnn_attention(sums), cudnn_convolution());
  };
}

}  // namespace mylos
