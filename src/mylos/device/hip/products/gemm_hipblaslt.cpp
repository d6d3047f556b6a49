// GEMMs by hipBLASLt on AMD devices: 16-bit operands on matrix cores, floats in full precision.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/device/hip/products/hipblaslt_product.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/gemm_ranked.hpp"
#include "mylos/kernels/gemm/product_row_sums.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/kernels/vendor/device_engines.hpp"

namespace mylos {
namespace {

using hipblaslt::Product;

/// The algorithm of a GEMM, by its name.
struct NamedAlgorithm {
  GemmProblem problem;
  std::string name;
};

/// If several engines are measured against each other, one uses the library's best algorithm for each GEMM,
/// the next the second best, and so on (`rank`). A separate pass sums rows, as by default with cuBLASLt.
class HipblasLtGemm final : public GemmEngine {
 public:
  explicit HipblasLtGemm(std::optional<std::size_t> rank = {}) : rank_(rank) {
    hipblaslt::check(hipblasLtCreate(&handle_), "start");
  }
  ~HipblasLtGemm() override {
    products_.clear();
    static_cast<void>(hipblasLtDestroy(handle_));
  }
  HipblasLtGemm(const HipblasLtGemm&) = delete;
  HipblasLtGemm& operator=(const HipblasLtGemm&) = delete;

  [[nodiscard]] std::string_view name() const override { return "hipblaslt"; }

  /// Returns the library's algorithm for the GEMM without epilogue. With an epilogue, it is tried first.
  [[nodiscard]] std::string_view engine_of(const GemmProblem& problem) const override {
    return rank_ ? algorithm_of(problem) : name();
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return hipblaslt::can_sum_rows(problem);
  }

  [[nodiscard]] bool multiplies_by_gelu(const GemmProblem& problem) const override {
    return hipblaslt::can_multiply_by_gelu(problem);
  }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return hipblaslt::library_workspace_bytes + hipblaslt::trial_bytes +
           (hipblaslt::can_sum_rows(problem) ? hipblaslt::row_sum_bytes(problem) : 0);
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
          add_row_sums(execution, problem, hipblaslt::new_sums(workspace), operands.row_sums);
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
    if (!kokkos_ || kokkos_->workspace_bytes(problem) > hipblaslt::library_workspace_bytes) {
      fail_run(ErrorId::library_failed, "hipBLASLt cannot compute the GEMM {} x {} by {} x {} of {}{}",
               problem.m, problem.k, problem.k, problem.n, name_of(problem.a),
               kokkos_ ? "; kernels.gemm = \"kokkos\" computes it" : "");
    }
    kokkos_->run(execution, problem, operands, workspace);
  }

  Product& product(const Execution& execution, const GemmBatch& batch, const GemmOperands& operands,
                   void* workspace) {
    const auto found = std::find_if(products_.begin(), products_.end(),
                                    [&](const auto& product) { return product->is_for(batch); });
    if (found != products_.end()) return **found;
    check_gemm_problem(batch.one);
    const bool prefers = rank_ && batch.count == 1;
    return *products_.emplace_back(
        std::make_unique<Product>(handle_, execution, batch, operands, workspace,
                                  prefers ? algorithm_of(batch.one) : std::string_view()));
  }

  [[nodiscard]] std::string_view algorithm_of(const GemmProblem& problem) const {
    const auto found = std::find_if(algorithms_.begin(), algorithms_.end(), [&](const auto& algorithm) {
      return same_product(algorithm->problem, problem);
    });
    if (found != algorithms_.end()) return (*found)->name;
    const std::vector<std::string> names = hipblaslt::algorithm_names(handle_, problem);
    const std::string name = names.empty() ? "hipblaslt" : names[std::min(*rank_, names.size() - 1)];
    algorithms_.push_back(std::make_unique<NamedAlgorithm>(NamedAlgorithm{problem, name}));
    return algorithms_.back()->name;
  }

  hipblasLtHandle_t handle_ = nullptr;
  std::optional<std::size_t> rank_;
  mutable std::vector<std::unique_ptr<NamedAlgorithm>> algorithms_;  // those requested so far
  std::vector<std::unique_ptr<Product>> products_;
  std::unique_ptr<GemmEngine> kokkos_;  // for GEMMs that the library refuses
};

/// Returns the engine that uses the fastest algorithm according to measurements.
std::unique_ptr<GemmEngine> measured_hipblaslt_gemm() {
  std::vector<std::unique_ptr<GemmEngine>> engines;
  for (std::size_t rank = 0; rank < std::size_t{hipblaslt::max_algorithms}; ++rank)
    engines.push_back(std::make_unique<HipblasLtGemm>(rank));
  return make_ranked_gemm("measured: hipblaslt", std::move(engines));
}

}  // namespace

DeviceEngines device_engines() {
  return {.name = "hipblaslt",
          .make =
              [](EngineUse use, AttentionSums /*sums*/) {
                std::unique_ptr<GemmEngine> gemm = use == EngineUse::measured
                                                       ? measured_hipblaslt_gemm()
                                                       : std::make_unique<HipblasLtGemm>();
                return std::make_unique<EngineSet>(std::move(gemm));
              },
          .describe_attention = [] { return std::string("none; GEMMs compute attention"); }};
}

std::unique_ptr<FusedAttention> device_attention(AttentionSums /*sums*/) {
  return nullptr;
}

}  // namespace mylos
