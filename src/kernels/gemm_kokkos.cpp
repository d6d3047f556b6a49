// Products by Kokkos Kernels' own float kernel, on any device that Kokkos runs on.
//
// A fallback: several times slower than a vendor's library. Kokkos Kernels sums in the type of C, so 16-bit
// operands are copied to floats in the workspace first, and a 16-bit C is summed there as floats.
#include <KokkosBlas3_gemm.hpp>
#include <array>

#include "gemm_engines.hpp"
#include "gemm_epilogue.hpp"
#include "mylos/base/arena.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

using FloatMatrix = Tensor::MatrixView<float>;
using ConstFloatMatrix = Tensor::MatrixView<const float>;

/// The floats of a matrix that is stored row-major as `rows` x `columns`: itself, or a copy in the workspace.
ConstFloatMatrix as_floats(const Execution& execution, DType type, const void* data, std::int64_t rows,
                           std::int64_t columns, std::byte*& workspace) {
  const Tensor stored(const_cast<void*>(data), type, rows, columns);  // only read
  Tensor floats = stored;
  if (type != DType::fp32) {
    floats = Tensor(workspace, DType::fp32, rows, columns);
    workspace += aligned_bytes(floats.bytes());
    convert(execution, stored, floats);
  }
  return floats.matrix<float>();
}

class KokkosGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "kokkos"; }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const auto float_bytes = [](std::int64_t elements) {
      return aligned_bytes(4 * static_cast<std::size_t>(elements));
    };
    std::size_t bytes = 0;
    if (problem.a != DType::fp32)
      bytes += float_bytes(problem.m * problem.k) + float_bytes(problem.k * problem.n);
    if (sums_in_workspace(problem)) bytes += float_bytes(problem.m * problem.n);
    return bytes;
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    check_gemm_problem(problem);
    const auto& [m, n, k] = std::array{problem.m, problem.n, problem.k};
    auto* free = static_cast<std::byte*>(workspace);
    const auto a_floats = problem.transpose_a ? as_floats(execution, problem.a, operands.a, k, m, free)
                                              : as_floats(execution, problem.a, operands.a, m, k, free);
    const auto b_floats = problem.transpose_b ? as_floats(execution, problem.b, operands.b, n, k, free)
                                              : as_floats(execution, problem.b, operands.b, k, n, free);
    const bool in_workspace = sums_in_workspace(problem);
    const Tensor sums(in_workspace ? static_cast<void*>(free) : operands.c, DType::fp32, m, n);
    const float keep = problem.accumulate && !in_workspace ? 1.0f : 0.0f;
    KokkosBlas::gemm(execution, problem.transpose_a ? "T" : "N", problem.transpose_b ? "T" : "N", 1.0f,
                     a_floats, b_floats, keep, FloatMatrix(sums.matrix<float>()));
    if (!in_workspace) return;
    dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
      dispatch(problem.bias ? problem.bias_type : DType::fp32, [&]<class Bias>(TypeTag<Bias>) {
        apply_epilogue(execution, problem, sums.as<float>(), static_cast<const Bias*>(operands.bias),
                       static_cast<Output*>(operands.c));
      });
    });
  }

 private:
  static bool sums_in_workspace(const GemmProblem& problem) {
    return problem.c != DType::fp32 || problem.bias || problem.relu;
  }
};

}  // namespace

MakeGemm kokkos_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<KokkosGemm>()); };
}

}  // namespace mylos
