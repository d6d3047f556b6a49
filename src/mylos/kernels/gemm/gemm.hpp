// Matrix products (GEMMs) behind one small interface: C[m,n] = op(A)·op(B), with float accumulation for all
// types.
//
// All matrices are row-major and contiguous. A value of C is summed in float in a fixed order. It is rounded
// to C's type once, after everything else has been applied:
//   C = round(relu(op(A)·op(B) + bias + C))     relu, bias and the old C only if the problem requests them
// A linear layer y = x·Wᵀ + bias with weights W[outputs, inputs] needs the three GEMMs that the functions
// below describe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos {

/// The description of one GEMM by shapes and types.
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
  bool accumulate = false;        ///< add to the old C
  bool bias = false;              ///< add a vector [n] to every row
  bool relu = false;              ///< negative results become zero; NaN stays NaN
  bool row_sums = false;          ///< see GemmEngine::sums_rows()
  bool gelu_derivative = false;   ///< see GemmEngine::multiplies_by_gelu()

  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

/// The role of a GEMM in a linear layer, determined by which operands are stored transposed.
enum class GemmForm { output, input_gradient, weight_gradient };

[[nodiscard]] GemmForm form_of(const GemmProblem& problem);

/// Returns "y", "dx" or "dW".
[[nodiscard]] std::string_view name_of(GemmForm form);

/// Returns true if two problems have the same form, sizes and types. Ignores bias, ReLU, accumulation and the
/// like.
[[nodiscard]] bool same_product(const GemmProblem& one, const GemmProblem& other);

/// The addresses of a GEMM's matrices, which must not overlap.
struct GemmOperands {
  const void* a;
  const void* b;
  void* c;
  const void* bias = nullptr;        ///< if the problem has one
  void* row_sums = nullptr;          ///< likewise, [m] of C's type
  const void* gelu_input = nullptr;  ///< likewise, [m, n] of C's type
  const void* packed_b = nullptr;    ///< B as GemmEngine::pack() wrote it, beside `b`; may be null
};

/// GEMMs of the same shape whose matrices have a constant distance: C_i = op(A_i)·op(B_i) for i < count.
struct GemmBatch {
  GemmProblem one;  ///< each GEMM of the batch, without epilogue
  std::int64_t count = 0;
  std::int64_t stride_a = 0;  ///< elements from A_i to A_i+1
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  /// Small GEMMs: a host's threads divide the batch, not each GEMM; see GemmEngine::run_batched().
  bool together = false;

  friend bool operator==(const GemmBatch&, const GemmBatch&) = default;
};

/// Returns a batch of contiguous matrices.
[[nodiscard]] GemmBatch batch_of(const GemmProblem& one, std::int64_t count);

/// Returns the problem y[samples, outputs] = x[samples, inputs] · W[outputs, inputs]ᵀ.
[[nodiscard]] GemmProblem linear_output(std::int64_t samples, std::int64_t inputs, std::int64_t outputs,
                                        DType type);

/// Returns the problem dx[samples, inputs] = dy[samples, outputs] · W[outputs, inputs].
[[nodiscard]] GemmProblem linear_input_gradient(std::int64_t samples, std::int64_t inputs,
                                                std::int64_t outputs, DType type);

/// Returns the problem dW[outputs, inputs] = dy[samples, outputs]ᵀ · x[samples, inputs]. dW has type
/// `gradient_type`, which is fp32 if micro-batches are accumulated.
[[nodiscard]] GemmProblem linear_weight_gradient(std::int64_t samples, std::int64_t inputs,
                                                 std::int64_t outputs, DType type, DType gradient_type);

/// Returns the floating-point operations of the GEMM.
[[nodiscard]] constexpr double flops_of(const GemmProblem& problem) {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
         static_cast<double>(problem.k);
}

/// A GEMM engine. It caches what it needs between calls (primitives, selected algorithms): after the first
/// run of a problem it allocates nothing. One thread at a time may use it.
class GemmEngine {
 public:
  virtual ~GemmEngine() = default;

  /// Returns the name that users write in decks.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Returns the name of the engine that computes this problem; this engine may delegate it to another one.
  [[nodiscard]] virtual std::string_view engine_of(const GemmProblem& /*problem*/) const { return name(); }

  /// Returns the engines to choose from by measurement; none if there is no choice.
  [[nodiscard]] virtual std::vector<GemmEngine*> alternatives() { return {}; }

  /// Selects the alternative of this name for the problem, and for the same GEMM with fewer samples. Returns
  /// false if there is no such alternative.
  virtual bool choose(const GemmProblem& /*problem*/, std::string_view /*engine*/) { return false; }

  /// Returns true if `run` can also write the sums of op(A)'s rows (added to the old ones if C is added to):
  /// the bias gradient together with the layer's dW, without reading dy again. The sums are in float, in an
  /// order that k, the form and the type determine. Only problems for which this is true may set `row_sums`.
  [[nodiscard]] virtual bool sums_rows(const GemmProblem& /*problem*/) const { return false; }

  /// Returns true if `run` can multiply each sum, before rounding, by the derivative of GELU (tanh form,
  /// formulas in docs/reference/formulas.md) at the activation's input. This computes the gradient of that
  /// input together with the layer's dx, without another pass. Only problems for which this is true may set
  /// `gelu_derivative`.
  [[nodiscard]] virtual bool multiplies_by_gelu(const GemmProblem& /*problem*/) const { return false; }

  /// Returns the bytes of workspace that suffice for `run` of this problem and of every problem smaller in m,
  /// n or k, so that the plan for a complete micro-batch also serves an incomplete one. The workspace must be
  /// aligned like an Arena's tensors. The result does not depend on `row_sums`, `accumulate` and
  /// `gelu_derivative`.
  [[nodiscard]] virtual std::size_t workspace_bytes(const GemmProblem& problem) const = 0;

  /// Returns the bytes of B in the order in which `run` reads it: with B packed once, a GEMM of few rows does
  /// not pack it again. They depend on n, k and types, not on m. 0: the engine does not pack this problem's
  /// B.
  [[nodiscard]] virtual std::size_t packed_bytes(const GemmProblem& /*problem*/) const { return 0; }

  /// Packs B for `run` of this problem, with any m, by this engine and others of the same instructions. The
  /// results of `run` have the same bits with it.
  virtual void pack(const Execution& /*execution*/, const GemmProblem& /*problem*/, const void* /*b*/,
                    void* /*packed*/) {}

  /// Enqueues the GEMM on `execution`. Throws Error if the combination of types is not supported or the
  /// library fails.
  virtual void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
                   void* workspace) = 0;

  /// Returns true if run_batched is one launch for any count. Otherwise it runs one GEMM after the
  /// other, except in a batch `together`.
  [[nodiscard]] virtual bool batches() const { return false; }

  /// Returns the bytes of workspace that suffice for `run_batched` of this batch and of every batch that is
  /// smaller in m, n or k. Unless the batch is computed together they are those of one GEMM.
  [[nodiscard]] virtual std::size_t batch_workspace_bytes(const GemmBatch& batch) const {
    return workspace_bytes(batch.one);
  }

  /// Computes all GEMMs of the batch. `first` holds the operands of the first. Engines that have the tiles
  /// compute a batch `together` in one launch, with the bits that the tiles give to each of its GEMMs. Throws
  /// Error as `run` does, and if the problem has an epilogue.
  virtual void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                           void* workspace);
};

/// Returns the problem, with row sums if the engine supports them.
[[nodiscard]] GemmProblem with_row_sums(const GemmEngine& engine, const GemmProblem& problem);

/// Returns the engine that the deck selects, without the libraries that go with it (engines/engine_set.hpp).
/// Also applies the instruction set that the deck selects to this
/// process's vector code and to oneDNN. `automatic` and `measure` compute each problem with the fastest
/// engine of this machine; until choose() is called, `measure` uses the same table as `automatic`. Throws
/// Error (bad input) if the engine or the instruction set is not available, and lists the available ones.
/// Also throws if oneDNN was already used with other instructions, which it cannot change.
[[nodiscard]] std::unique_ptr<GemmEngine> make_gemm_engine(const KernelOptions& options);

/// Returns the options with what this machine and build lack replaced by `automatic` and by no instruction
/// set. For options that another machine wrote.
[[nodiscard]] KernelOptions usable_here(const KernelOptions& options);

/// Returns the instructions that GEMMs and vector code of this process use, for messages and records:
/// "avx512-bf16, oneDNN's AVX512_CORE_AMX". Call it after an engine was created.
[[nodiscard]] std::string describe_instructions();

/// Returns true if oneDNN would use the processor's matrix unit (AMX) for bfloat16, unless it is limited.
[[nodiscard]] bool could_use_matrix_unit();

/// Returns the names of this build's engines.
[[nodiscard]] std::vector<std::string> gemm_engine_names();

/// Returns the engine of this name. Throws Error (bad input) that lists the engines if `name` is unknown.
[[nodiscard]] GemmChoice gemm_engine_named(std::string_view name);

}  // namespace mylos
