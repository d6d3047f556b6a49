// GEMMs by a library with the interface of cuBLASLt, which hipBLASLt has too. The vendors' folders
// instantiate this engine for their library (src/mylos/device/*/engines).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/base/alignment.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/gemm_epilogue.hpp"
#include "mylos/kernels/gemm/gemm_ranked.hpp"
#include "mylos/kernels/gemm/gemm_row_sums.hpp"
#include "mylos/kernels/gemm/library_gemm.hpp"
#include "mylos/kernels/pointwise/activation.hpp"

namespace mylos::blaslt {

/// Returns the bytes of the new row sums, if old ones are added to. They follow the library's workspace.
inline std::size_t row_sum_bytes(const GemmProblem& problem) {
  return aligned_bytes(static_cast<std::size_t>(problem.m) * sizeof(float));
}

/// Returns true if the library can sum rows in dW = dyᵀ·x: its second operand is then dy, and k is the length
/// of the sums.
inline bool can_sum_rows(const GemmProblem& problem) {
  return problem.transpose_a && !problem.transpose_b && !problem.bias;
}

/// The algorithm of a GEMM, and the engine's name for it.
struct NamedAlgorithm {
  GemmProblem problem;
  std::string algorithm;
  std::string name;
};

/// If several engines are measured against each other, one uses the library's best algorithm for each GEMM,
/// the next the second best, and so on (`rank`). By default a separate pass sums rows: it takes the time of
/// reading dy once, less than what the epilogues of GPT-2's GEMMs took (docs/explanation/gpu.md).
///
/// Library:
///   name, title                      "cublaslt", "cuBLASLt"
///   Handle, create(), destroy()      the library's
///   PreparedGemm                     a GEMM or a batch of GEMMs: is_for(batch, operands), run()
///   library_workspace_bytes          of every GEMM
///   workspace_bytes(problem)         with what PreparedGemm needs besides, but the new row sums
///   new_sums(workspace)              the address of row_sum_bytes()
///   can_multiply_by_gelu(problem)    whether one GEMM can compute the gradient of 16-bit activations
///   algorithm_names(handle, problem) those for the GEMM without epilogue, the library's best first
template <class Library>
class BlasLtGemm final : public GemmEngine {
 public:
  explicit BlasLtGemm(std::optional<std::size_t> rank = {}, RowSums row_sums = RowSums::separate)
      : handle_(Library::create()), rank_(rank), row_sums_(row_sums) {}
  ~BlasLtGemm() override {
    gemms_.clear();
    Library::destroy(handle_);
  }
  BlasLtGemm(const BlasLtGemm&) = delete;
  BlasLtGemm& operator=(const BlasLtGemm&) = delete;

  [[nodiscard]] std::string_view name() const override { return Library::name; }

  /// Returns the library's algorithm for the GEMM without epilogue. With an epilogue, it is tried first.
  [[nodiscard]] std::string_view engine_of(const GemmProblem& problem) const override {
    return rank_ ? named_algorithm(problem).name : name();
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override { return can_sum_rows(problem); }

  [[nodiscard]] bool multiplies_by_gelu(const GemmProblem& problem) const override {
    return Library::can_multiply_by_gelu(problem);
  }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return Library::workspace_bytes(problem);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    switch (gemm(execution, batch_of(problem, 1), operands, workspace)
                .run(handle_, execution, operands, workspace)) {
      case GemmMethod::library_then_bias:
        return add_bias(execution, problem, operands);
      case GemmMethod::library_then_sums:
        return sum_rows_of_a(execution, problem, operands.a, operands.row_sums, workspace);
      case GemmMethod::library_then_gelu:
        return multiply_by_gelu(execution, problem, operands);
      case GemmMethod::kokkos:
        run_by_kokkos(execution, problem, operands, workspace);
        if (problem.row_sums) sum_rows_of_a(execution, problem, operands.a, operands.row_sums, workspace);
        if (problem.gelu_derivative) multiply_by_gelu(execution, problem, operands);
        return;
      default:
        if (problem.relu) apply_relu(execution, problem, operands.c);
        if (problem.row_sums && problem.accumulate)
          add_row_sums(execution, problem, Library::new_sums(workspace), operands.row_sums);
    }
  }

  [[nodiscard]] bool batches() const override { return true; }

  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    check_gemm_batch(batch);
    const GemmMethod method =
        gemm(execution, batch, first, workspace).run(handle_, execution, first, workspace);
    if (method == GemmMethod::kokkos) GemmEngine::run_batched(execution, batch, first, workspace);
  }

 private:
  using PreparedGemm = typename Library::PreparedGemm;

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
    if (!kokkos_ || kokkos_->workspace_bytes(problem) > Library::library_workspace_bytes) {
      fail_run(errors::library_failed, "{} cannot compute the GEMM {} x {} by {} x {} of {}{}",
               Library::title, problem.m, problem.k, problem.k, problem.n, name_of(problem.a),
               kokkos_ ? "; kernels.gemm = \"kokkos\" computes it" : "");
    }
    kokkos_->run(execution, problem, operands, workspace);
  }

  PreparedGemm& gemm(const Execution& execution, const GemmBatch& batch, const GemmOperands& operands,
                     void* workspace) {
    const auto found = std::find_if(gemms_.begin(), gemms_.end(),
                                    [&](const auto& gemm) { return gemm->is_for(batch, operands); });
    if (found != gemms_.end()) return **found;
    check_gemm_problem(batch.one);
    const bool prefers = rank_ && batch.count == 1;
    return *gemms_.emplace_back(std::make_unique<PreparedGemm>(
        handle_, execution, batch, operands, workspace,
        prefers ? named_algorithm(batch.one).algorithm : std::string_view(), row_sums_));
  }

  [[nodiscard]] const NamedAlgorithm& named_algorithm(const GemmProblem& problem) const {
    const auto found = std::find_if(algorithms_.begin(), algorithms_.end(), [&](const auto& algorithm) {
      return same_product(algorithm->problem, problem);
    });
    if (found != algorithms_.end()) return **found;
    const std::vector<std::string> names = Library::algorithm_names(handle_, problem);
    const std::string algorithm =
        names.empty() ? std::string(Library::name) : names[std::min(*rank_, names.size() - 1)];
    const bool differs = row_sums_ == RowSums::in_epilogue && can_sum_rows(problem);
    algorithms_.push_back(std::make_unique<NamedAlgorithm>(
        NamedAlgorithm{problem, algorithm, differs ? algorithm + "+sums" : algorithm}));
    return *algorithms_.back();
  }

  typename Library::Handle handle_;
  std::optional<std::size_t> rank_;
  RowSums row_sums_;
  mutable std::vector<std::unique_ptr<NamedAlgorithm>> algorithms_;  // those requested so far
  std::vector<std::unique_ptr<PreparedGemm>> gemms_;
  std::unique_ptr<GemmEngine> kokkos_;  // for GEMMs that the library refuses
};

/// Returns the engine that uses the fastest algorithm according to measurements. Weight gradients compete
/// once with each of these methods of summing rows.
template <class Library>
std::unique_ptr<GemmEngine> measured_gemm(std::initializer_list<RowSums> row_sum_methods) {
  std::vector<std::unique_ptr<GemmEngine>> engines;
  for (const RowSums row_sums : row_sum_methods) {
    for (std::size_t rank = 0; rank < std::size_t{Library::max_algorithms}; ++rank)
      engines.push_back(std::make_unique<BlasLtGemm<Library>>(rank, row_sums));
  }
  return make_ranked_gemm("measured: " + std::string(Library::name), std::move(engines));
}

}  // namespace mylos::blaslt
