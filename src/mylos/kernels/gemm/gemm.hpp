// Matrix products behind one small interface: C[m,n] = op(A)·op(B), float accumulation whatever the types.
//
// All matrices are row-major and contiguous. A value of C is summed in float, in a fixed order, and rounded
// to C's type once, after everything else has been applied to it:
//     C = round(relu(op(A)·op(B) + bias + C))     each of relu, bias and the old C only where the problem
//     says so
// A linear layer y = x·Wᵀ + bias with weights W[outputs, inputs] needs the three products that the functions
// below describe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos {

class FusedAttention;
class LibraryConvolution;

/// One product, from shapes and types alone.
struct GemmProblem {
  std::int64_t m = 0;        ///< rows of C
  std::int64_t n = 0;        ///< columns of C
  std::int64_t k = 0;        ///< length of the sums
  bool transpose_a = false;  ///< A is stored [k, m] instead of [m, k]
  bool transpose_b = false;  ///< B is stored [n, k] instead of [k, n]
  DType a = DType::fp32;
  DType b = DType::fp32;          ///< the same as `a`
  DType c = DType::fp32;          ///< the same as `a`, or fp32
  DType bias_type = DType::fp32;  ///< the type of B or of C
  bool accumulate = false;        ///< C is added to
  bool bias = false;              ///< a vector [n] is added to every row
  bool relu = false;              ///< negative results become zero; NaN stays NaN
  bool row_sums = false;          ///< see GemmEngine::sums_rows()
  bool gelu_derivative = false;   ///< see GemmEngine::multiplies_by_gelu()

  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

/// Which of a linear layer's products a problem is, by what is stored transposed.
enum class GemmForm { output, input_gradient, weight_gradient };

[[nodiscard]] GemmForm form_of(const GemmProblem& problem);

/// "y", "dx", "dW".
[[nodiscard]] std::string_view name_of(GemmForm form);

/// True where two problems have the same form, sizes and types, whatever is added or applied besides.
[[nodiscard]] bool same_product(const GemmProblem& one, const GemmProblem& other);

/// Where a product's matrices lie; they do not overlap.
struct GemmOperands {
  const void* a;
  const void* b;
  void* c;
  const void* bias = nullptr;        ///< where the problem has one
  void* row_sums = nullptr;          ///< likewise, [m] of C's type
  const void* gelu_input = nullptr;  ///< likewise, [m, n] of C's type
};

/// Equal products of matrices that lie equally far apart: C_i = op(A_i)·op(B_i) for i < count.
struct GemmBatch {
  GemmProblem one;  ///< of them; nothing is added or applied besides
  std::int64_t count = 0;
  std::int64_t stride_a = 0;  ///< elements from A_i to A_i+1
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;

  friend bool operator==(const GemmBatch&, const GemmBatch&) = default;
};

/// Of matrices that lie one right behind the other.
[[nodiscard]] GemmBatch batch_of(const GemmProblem& one, std::int64_t count);

/// y[samples, outputs] = x[samples, inputs] · W[outputs, inputs]ᵀ
[[nodiscard]] GemmProblem linear_output(std::int64_t samples, std::int64_t inputs, std::int64_t outputs,
                                        DType type);

/// dx[samples, inputs] = dy[samples, outputs] · W[outputs, inputs]
[[nodiscard]] GemmProblem linear_input_gradient(std::int64_t samples, std::int64_t inputs,
                                                std::int64_t outputs, DType type);

/// dW[outputs, inputs] = dy[samples, outputs]ᵀ · x[samples, inputs], stored as `gradient_type`, which is fp32
/// where micro-batches are accumulated.
[[nodiscard]] GemmProblem linear_weight_gradient(std::int64_t samples, std::int64_t inputs,
                                                 std::int64_t outputs, DType type, DType gradient_type);

/// Floating-point operations of the product.
[[nodiscard]] constexpr double flops_of(const GemmProblem& problem) {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
         static_cast<double>(problem.k);
}

/// Computes products. An engine keeps what it needs between calls (primitives, chosen algorithms): after the
/// first run of a problem it allocates nothing. It is used by one thread at a time.
class GemmEngine {
 public:
  virtual ~GemmEngine() = default;

  /// The name users type in decks.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// The name of the engine that computes this problem, which may be another one that it is handed to.
  [[nodiscard]] virtual std::string_view engine_of(const GemmProblem& /*problem*/) const { return name(); }

  /// The engines that a choice by measurement has; none where nothing is left to choose.
  [[nodiscard]] virtual std::vector<GemmEngine*> alternatives() { return {}; }

  /// From now on the alternative of this name computes the problem, and those that have fewer samples and are
  /// else the same product. False where there is no such alternative.
  virtual bool choose(const GemmProblem& /*problem*/, std::string_view /*engine*/) { return false; }

  /// Whether `run` can leave the sums of op(A)'s rows besides (added to what is there where C is added to):
  /// a bias's gradient with its layer's dW, without reading dy once more. They are float sums in an order
  /// that k, the form and the type give. Only such problems may ask for it.
  [[nodiscard]] virtual bool sums_rows(const GemmProblem& /*problem*/) const { return false; }

  /// Whether `run` can multiply each sum, before it is rounded, by the derivative of GELU (its tanh form,
  /// math: docs/formulas.md) at the points that an activation was given: the gradient of those points with
  /// its layer's dx, without passing over it once more. Only such problems may ask for it.
  [[nodiscard]] virtual bool multiplies_by_gelu(const GemmProblem& /*problem*/) const { return false; }

  /// Bytes of workspace that are enough for `run` of this problem and of every one that is smaller in m, n or
  /// k, aligned as an Arena aligns: what is planned for a whole micro-batch serves a ragged one.
  /// It does not depend on `row_sums`, `accumulate` and `gelu_derivative`.
  [[nodiscard]] virtual std::size_t workspace_bytes(const GemmProblem& problem) const = 0;

  /// Computes the product in the order of `execution`. Throws Error when the types do not go together or the
  /// library fails.
  virtual void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
                   void* workspace) = 0;

  /// Whether run_batched is one launch, whatever the count; else it runs one product after the other.
  [[nodiscard]] virtual bool batches() const { return false; }

  /// Computes all products of the batch, in the workspace of one of them. `first`: the operands of its first.
  /// Throws Error as `run` does, and where the problem wants more than a product.
  virtual void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                           void* workspace);

  /// Attention by a kernel of its vendor's, which the engine keeps; null where there is none.
  [[nodiscard]] virtual FusedAttention* fused_attention() const { return nullptr; }

  /// Convolutions by a library that has them as such, which the engine keeps; null where there is none.
  [[nodiscard]] virtual LibraryConvolution* convolutions() const { return nullptr; }

  /// What these two refused since this was last asked, and why, in lines for people; mostly empty.
  [[nodiscard]] virtual std::string take_refusals() { return {}; }
};

/// The problem, with row sums where the engine has them.
[[nodiscard]] GemmProblem with_row_sums(const GemmEngine& engine, const GemmProblem& problem);

/// The engine that the deck asks for, by the instructions that it asks for: this process's vector code and
/// oneDNN go by them from then on. `automatic` and `measure` compute each problem by the fastest of this
/// machine; until choose() is called, `measure` goes by the same table.
/// Throws Error (bad input) when the engine or the instructions are not here, naming those that are; and
/// where oneDNN was used before by other instructions, which it keeps.
[[nodiscard]] std::unique_ptr<GemmEngine> make_gemm_engine(const KernelOptions& options);

/// The options as far as this machine and build can go by them: `automatic`, and no instructions, in place of
/// what is not here. For what another machine wrote.
[[nodiscard]] KernelOptions usable_here(const KernelOptions& options);

/// The instructions that products and vector code of this process run by, for messages and records:
/// "avx512-bf16, oneDNN's AVX512_CORE_AMX". After an engine was made.
[[nodiscard]] std::string describe_instructions();

/// Whether oneDNN would multiply bfloat16 by a matrix unit (AMX) of the processor, unless it is held to less.
[[nodiscard]] bool could_use_matrix_unit();

/// The engines of this build, by the names that decks use.
[[nodiscard]] std::vector<std::string> gemm_engine_names();

/// The choice of one of them. Throws Error (bad input), naming them, where `name` is none.
[[nodiscard]] GemmChoice gemm_engine_named(std::string_view name);

}  // namespace mylos
