// Products by cuBLASLt on NVIDIA devices: 16-bit operands on tensor cores, float in full float (never TF32).
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "gemm_engines.hpp"
#include "gemm_epilogue.hpp"
#include "library_product.hpp"
#include "mylos/base/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/activation.hpp"
#include "product_row_sums.hpp"

namespace mylos {
namespace {

static_assert(arena_alignment % 256 == 0, "cuBLASLt demands it of its workspace, which lies in an arena");

// NVIDIA's advice for Hopper is 32 MiB; the same for every problem, so that the plan needs no device.
constexpr std::size_t library_workspace_bytes = std::size_t{32} << 20;

// The library gives its best algorithm first, and may refuse to run it.
constexpr int most_algorithms = 8;

void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_run("cuBLASLt could not {}: {}", what, std::string_view(cublasLtGetStatusString(status)));
}

/// The library has no such product, or not on matrices like these: another way may do.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
}

cudaDataType_t data_type(DType type) {
  return type == DType::fp32 ? CUDA_R_32F : type == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

template <auto destroy>
struct Destroy {
  template <class Opaque>
  void operator()(Opaque* object) const {
    destroy(object);
  }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

template <class Value>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value),
        "set an attribute");
}

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "take a preference");
}

template <class Value>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
  check(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
        "describe a batch of matrices");
}

/// Of `count` matrices, `stride` elements from one to the next.
Layout layout_of(const LibraryMatrix& matrix, std::int64_t count, std::int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, data_type(matrix.type), static_cast<std::uint64_t>(matrix.rows),
                                   static_cast<std::uint64_t>(matrix.columns), matrix.rows),
        "describe a matrix");
  Layout layout(made);
  if (count > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  return layout;
}

Description describe(const LibraryProduct& product) {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
  Description description(made);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_second ? CUBLAS_OP_T : CUBLAS_OP_N);
  return description;
}

/// cuBLASLt's manual, on epilogues: lengths of columns in what it reads beside the operands are multiples of
/// it.
constexpr std::int64_t epilogue_columns = 8;

/// The gradient of 16-bit activations that one product gives.
bool can_multiply_by_gelu(const GemmProblem& problem) {
  return form_of(problem) == GemmForm::input_gradient && problem.c == problem.a && problem.c != DType::fp32 &&
         problem.n % epilogue_columns == 0 && !problem.bias && !problem.accumulate && !problem.relu;
}

/// The library's GELU is the one by tanh.
Description describe_with_gelu(const LibraryProduct& product, const GemmProblem& problem,
                               const void* gelu_input) {
  Description description = describe(product);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE,
      static_cast<std::int32_t>(data_type(problem.c)));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.n);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gelu_input);
  return description;
}

/// `vector`: a bias, or where sums go. The library derives the alignment that it may expect from the address.
Description describe_with(cublasLtEpilogue_t epilogue, const LibraryProduct& product, DType type,
                          const void* vector) {
  Description description = describe(product);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(data_type(type)));
  set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  return description;
}

/// Behind the library's own workspace: new sums of rows, where old ones are added to.
std::size_t row_sum_bytes(const GemmProblem& problem) {
  return aligned_bytes(static_cast<std::size_t>(problem.m) * sizeof(float));
}

/// Ours is dW = dyᵀ·x; the library's second operand is then dy, and k is its sums' length.
bool can_sum_rows(const GemmProblem& problem) {
  return problem.transpose_a && !problem.transpose_b && !problem.bias;
}

Preference preference_for(const ProductAlignments& alignments) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "make a preference");
  Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, library_workspace_bytes);
  // Reductions across blocks in 16 bits would round sums that have to stay float.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.b);  // the library's A is our B
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.a);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.c);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.c);
  return preference;
}

/// Where row_sum_bytes() are.
void* new_sums(void* workspace) {
  return static_cast<std::byte*>(workspace) + library_workspace_bytes;
}

/// The library's descriptors and algorithms for one batch, of one product or more, on matrices that lie as
/// these operands do.
class Product {
 public:
  Product(cublasLtHandle_t handle, const GemmBatch& batch, const GemmOperands& operands)
      : batch_(batch), alignments_(alignments_of(batch, operands)) {
    const GemmProblem& problem = batch.one;
    const LibraryProduct product = library_product(problem);
    first_ = layout_of(product.first, batch.count, batch.stride_b);
    second_ = layout_of(product.second, batch.count, batch.stride_a);
    result_ = layout_of(product.result, batch.count, batch.stride_c);
    plain_ = describe(product);
    if (problem.bias)
      with_epilogue_ = describe_with(CUBLASLT_EPILOGUE_BIAS, product, problem.bias_type, operands.bias);
    if (problem.row_sums)
      with_epilogue_ = describe_with(CUBLASLT_EPILOGUE_BGRADB, product, problem.c, operands.row_sums);
    if (problem.gelu_derivative) with_epilogue_ = describe_with_gelu(product, problem, operands.gelu_input);
    for (const ProductWay way : ways_of(problem)) add_attempts(handle, way);
  }

  [[nodiscard]] bool is_for(const GemmBatch& batch, const ProductAlignments& alignments) const {
    return batch_ == batch && alignments_ == alignments;
  }

  /// Runs the first way that the library does not refuse; the next run begins with it. kokkos: none is left,
  /// and nothing was run.
  ProductWay run(cublasLtHandle_t handle, const Execution& execution, const GemmOperands& operands,
                 void* workspace) {
    for (; current_ < attempts_.size(); ++current_) {
      const Attempt& attempt = attempts_[current_];
      const cublasStatus_t status = run(handle, attempt, execution, operands, workspace);
      if (!is_refusal(status)) {
        check(status, "run a product");
        return attempt.way;
      }
    }
    return ProductWay::kokkos;
  }

 private:
  struct Attempt {
    ProductWay way;
    cublasLtMatmulAlgo_t algorithm;
  };

  [[nodiscard]] const Description& description_of(ProductWay way) const {
    return way == ProductWay::library && with_epilogue_ ? with_epilogue_ : plain_;
  }

  void add_attempts(cublasLtHandle_t handle, ProductWay way) {
    if (way == ProductWay::kokkos) return;
    std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> results{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, description_of(way).get(), first_.get(), second_.get(), result_.get(), result_.get(),
        preference_for(alignments_).get(), most_algorithms, results.data(), &found);
    if (is_refusal(status)) return;
    check(status, "choose an algorithm");
    for (int i = 0; i < found; ++i) {
      if (results[i].state == CUBLAS_STATUS_SUCCESS) attempts_.push_back({way, results[i].algo});
    }
  }

  cublasStatus_t run(cublasLtHandle_t handle, const Attempt& attempt, const Execution& execution,
                     const GemmOperands& operands, void* workspace) {
    const GemmProblem& problem = batch_.one;
    const Description& description = description_of(attempt.way);
    if (description == with_epilogue_ && problem.gelu_derivative) {
      set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.gelu_input);
    } else if (description == with_epilogue_) {
      const void* const sums = problem.accumulate ? new_sums(workspace) : operands.row_sums;
      set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, problem.bias ? operands.bias : sums);
    }
    const bool fills = attempt.way == ProductWay::library_after_bias;
    if (fills) fill_with_bias(execution, problem, operands.bias, operands.c);
    const float alpha = 1.0f;
    const float beta = problem.accumulate || fills ? 1.0f : 0.0f;
    return cublasLtMatmul(handle, description.get(), &alpha, operands.b, first_.get(), operands.a,
                          second_.get(), &beta, operands.c, result_.get(), operands.c, result_.get(),
                          &attempt.algorithm, workspace, library_workspace_bytes, execution.cuda_stream());
  }

  GemmBatch batch_;
  ProductAlignments alignments_;
  Layout first_;
  Layout second_;
  Layout result_;
  Description plain_;
  Description with_epilogue_;  // of a problem that wants one
  std::vector<Attempt> attempts_;
  std::size_t current_ = 0;
};

class CublasLtGemm final : public GemmEngine {
 public:
  CublasLtGemm() { check(cublasLtCreate(&handle_), "start"); }
  ~CublasLtGemm() override {
    products_.clear();
    cublasLtDestroy(handle_);
  }
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;

  [[nodiscard]] std::string_view name() const override { return "cublaslt"; }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override { return can_sum_rows(problem); }

  [[nodiscard]] bool multiplies_by_gelu(const GemmProblem& problem) const override {
    return can_multiply_by_gelu(problem);
  }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return library_workspace_bytes + (can_sum_rows(problem) ? row_sum_bytes(problem) : 0);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    switch (product(batch_of(problem, 1), operands).run(handle_, execution, operands, workspace)) {
      case ProductWay::library_then_bias:
        return add_bias(execution, problem, operands);
      case ProductWay::library_then_sums:
        return sum_rows_of_a(execution, problem, operands.a, operands.row_sums);
      case ProductWay::library_then_gelu:
        return multiply_by_gelu(execution, problem, operands);
      case ProductWay::kokkos:
        run_by_kokkos(execution, problem, operands, workspace);
        if (problem.row_sums) sum_rows_of_a(execution, problem, operands.a, operands.row_sums);
        if (problem.gelu_derivative) multiply_by_gelu(execution, problem, operands);
        return;
      default:
        if (problem.relu) apply_relu(execution, problem, operands.c);
        if (problem.row_sums && problem.accumulate)
          add_row_sums(execution, problem, new_sums(workspace), operands.row_sums);
    }
  }

  [[nodiscard]] bool batches() const override { return true; }

  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    check_gemm_batch(batch);
    const ProductWay way = product(batch, first).run(handle_, execution, first, workspace);
    if (way == ProductWay::kokkos) GemmEngine::run_batched(execution, batch, first, workspace);
  }

 private:
  static void add_bias(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands) {
    GemmProblem rest = problem;
    rest.accumulate = false;  // done by the library
    auto* const c = static_cast<float*>(operands.c);
    dispatch(problem.bias_type, [&]<class Bias>(TypeTag<Bias>) {
      apply_epilogue(execution, rest, c, static_cast<const Bias*>(operands.bias), c);
    });
  }

  static void multiply_by_gelu(const Execution& execution, const GemmProblem& problem,
                               const GemmOperands& operands) {
    const Tensor input(const_cast<void*>(operands.gelu_input), problem.c, problem.m, problem.n);  // only read
    const Tensor gradient(operands.c, problem.c, problem.m, problem.n);
    activation_backward(execution, Activation::gelu_tanh, input, gradient, gradient, {}, false, {});
  }

  void run_by_kokkos(const Execution& execution, const GemmProblem& whole, const GemmOperands& operands,
                     void* workspace) {
    GemmProblem problem = whole;
    problem.row_sums = problem.gelu_derivative = false;
    if (const MakeGemm make = kokkos_gemm(); make != nullptr && !kokkos_) kokkos_ = make();
    if (!kokkos_ || kokkos_->workspace_bytes(problem) > library_workspace_bytes) {
      fail_run("cuBLASLt has no product {} x {} by {} x {} of {}{}", problem.m, problem.k, problem.k,
               problem.n, name_of(problem.a), kokkos_ ? "; kernels.gemm = \"kokkos\" computes it" : "");
    }
    kokkos_->run(execution, problem, operands, workspace);
  }

  Product& product(const GemmBatch& batch, const GemmOperands& operands) {
    const ProductAlignments alignments = alignments_of(batch, operands);
    const auto found = std::find_if(products_.begin(), products_.end(),
                                    [&](const auto& product) { return product->is_for(batch, alignments); });
    if (found != products_.end()) return **found;
    check_gemm_problem(batch.one);
    return *products_.emplace_back(std::make_unique<Product>(handle_, batch, operands));
  }

  cublasLtHandle_t handle_ = nullptr;
  std::vector<std::unique_ptr<Product>> products_;
  std::unique_ptr<GemmEngine> kokkos_;  // for what the library refuses
};

}  // namespace

MakeGemm cublaslt_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<CublasLtGemm>()); };
}

}  // namespace mylos
