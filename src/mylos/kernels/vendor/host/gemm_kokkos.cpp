// GEMMs by the float kernel of Kokkos Kernels, on any device that Kokkos supports.
//
// A fallback, several times slower than a vendor's library. Kokkos Kernels sums in the type of C. So 16-bit
// operands are first copied to floats in the workspace, and a 16-bit C is summed there as floats.
#include <KokkosBlas3_gemm.hpp>
#include <array>

#include "mylos/base/pieces.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/gemm_epilogue.hpp"

namespace mylos {
namespace {

using FloatMatrix = Tensor::MatrixView<float>;
using ConstFloatMatrix = Tensor::MatrixView<const float>;

/// The workspace of a GEMM.
struct FloatCopies {
  FloatCopies(const GemmProblem& problem, void* workspace) : pieces(workspace) {
    if (problem.a != DType::fp32) {
      a = pieces.take<float>(problem.m * problem.k);
      b = pieces.take<float>(problem.k * problem.n);
    }
    sums_c = problem.c != DType::fp32 || problem.bias || problem.relu;
    if (sums_c) c = pieces.take<float>(problem.m * problem.n);
  }

  Pieces pieces;
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  bool sums_c;  // in the workspace; else in place
};

/// Returns a row-major `rows` x `columns` matrix as floats: the matrix itself, or its conversion in `copy`.
ConstFloatMatrix as_floats(const Execution& execution, DType type, const void* data, std::int64_t rows,
                           std::int64_t columns, float* copy) {
  const ConstTensor stored(data, type, rows, columns);
  if (type == DType::fp32) return stored.matrix<float>();
  const Tensor floats(copy, DType::fp32, rows, columns);
  convert(execution, stored, floats);
  return floats.matrix<float>();
}

class KokkosGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "kokkos"; }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return FloatCopies(problem, nullptr).pieces.bytes();
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    check_gemm_problem(problem);
    const auto& [m, n, k] = std::array{problem.m, problem.n, problem.k};
    const FloatCopies copies(problem, workspace);
    const auto a_floats = problem.transpose_a ? as_floats(execution, problem.a, operands.a, k, m, copies.a)
                                              : as_floats(execution, problem.a, operands.a, m, k, copies.a);
    const auto b_floats = problem.transpose_b ? as_floats(execution, problem.b, operands.b, n, k, copies.b)
                                              : as_floats(execution, problem.b, operands.b, k, n, copies.b);
    const Tensor sums(copies.sums_c ? static_cast<void*>(copies.c) : operands.c, DType::fp32, m, n);
    const float keep = problem.accumulate && !copies.sums_c ? 1.0f : 0.0f;
    KokkosBlas::gemm(execution, problem.transpose_a ? "T" : "N", problem.transpose_b ? "T" : "N", 1.0f,
                     a_floats, b_floats, keep, FloatMatrix(sums.matrix<float>()));
    if (!copies.sums_c) return;
    dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
      dispatch(problem.bias ? problem.bias_type : DType::fp32, [&]<class Bias>(TypeTag<Bias>) {
        apply_epilogue(execution, problem, sums.as<float>(), static_cast<const Bias*>(operands.bias),
                       static_cast<Output*>(operands.c));
      });
    });
  }
};

}  // namespace

MakeGemm kokkos_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<KokkosGemm>()); };
}

}  // namespace mylos
