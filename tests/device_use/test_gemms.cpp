// Each misuse of cuBLASLt that its stand-in is there to find, and what it refuses.
#include <cublasLt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger.hpp"
#include "test_memory.hpp"

namespace {

using device_use::a_stream;
using device_use::device_bytes;
using device_use::Ledger;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A [8, 3] times B [3, 4] in half, column by column, with a bias.
struct GemmCase {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::byte* memory = device_bytes(4096);
  std::size_t workspace_bytes = 1024;
  std::size_t promised = 16;  // alignment of A
  cudaStream_t stream = a_stream();

  GemmCase() {
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_16F, 3, 4, 3);
    set_rows(8);
    set_epilogue(CUBLASLT_EPILOGUE_BIAS, memory + 512);
  }
  void set_rows(std::uint64_t rows) {
    cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, rows, 3, static_cast<std::int64_t>(rows));
    cublasLtMatrixLayoutCreate(&d, CUDA_R_16F, rows, 4, static_cast<std::int64_t>(rows));
  }
  void set_epilogue(cublasLtEpilogue_t epilogue, const void* bias) const {
    const auto type = static_cast<std::int32_t>(CUDA_R_16F);
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
  }
  /// By the algorithm of this rank, of a GEMM whose A lies there.
  cublasStatus_t run(const std::byte* first, const std::byte* workspace, std::size_t rank = 0) const {
    const auto alignment = static_cast<std::uint32_t>(promised);
    const std::uint64_t most = 1024;
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof alignment);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                         sizeof most);
    cublasLtMatmulHeuristicResult_t result[2];
    int found = 0;
    cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, d, d, preference, 2, result, &found);
    EXPECT_EQ(found, 2);
    const float one = 1, zero = 0;
    return cublasLtMatmul(handle, description, &one, first, a, memory + 256, b, &zero, memory + 1024, d,
                          memory + 1024, d, &result[rank].algo, const_cast<std::byte*>(workspace),
                          workspace_bytes, stream);
  }
  [[nodiscard]] std::set<std::string> faults(const std::byte* first, const std::byte* workspace) const {
    EXPECT_EQ(run(first, workspace), CUBLAS_STATUS_SUCCESS);
    return Ledger::own().take_faults();
  }
};

TEST(DeviceGemms, GetTheOperandsOfTheCaller) {
  GemmCase gemm;
  const std::byte* const memory = gemm.memory;
  EXPECT_THAT(gemm.faults(memory, memory + 2048), IsEmpty());
  EXPECT_THAT(gemm.faults(memory + 8, memory + 2048), ElementsAre(HasSubstr("A is not aligned to 16 bytes")));
  EXPECT_THAT(gemm.faults(memory, memory + 2048 + 64),
              ElementsAre(HasSubstr("workspace is not aligned to 256")));
  EXPECT_THAT(gemm.faults(memory, memory + 3328), ElementsAre(HasSubstr("workspace goes beyond")));
  static const std::byte on_host[64] = {};
  EXPECT_THAT(gemm.faults(on_host, memory + 2048), ElementsAre(HasSubstr("does not lie in device memory")));
  gemm.promised = 256;  // the library's default where nobody says anything
  EXPECT_THAT(gemm.faults(memory + 16, memory + 2048),
              ElementsAre(HasSubstr("A is not aligned to 256 bytes")));
  gemm.promised = 16;
  gemm.workspace_bytes = 512;
  EXPECT_THAT(gemm.faults(memory, memory + 2048), ElementsAre(HasSubstr("less workspace")));
}

TEST(DeviceGemms, ShowTheirBiasBeforeTheyAreChosen) {
  GemmCase gemm;
  const std::byte* const memory = gemm.memory;
  gemm.set_epilogue(CUBLASLT_EPILOGUE_BIAS, nullptr);
  EXPECT_THAT(gemm.faults(memory, memory + 2048),
              testing::Contains(HasSubstr("before the library saw the bias")));
  gemm.set_epilogue(CUBLASLT_EPILOGUE_BIAS, memory + 4096 - 16);  // eight halves
  EXPECT_THAT(gemm.faults(memory, memory + 2048), IsEmpty());
  gemm.set_epilogue(CUBLASLT_EPILOGUE_BGRADB, memory + 4096 - 4);  // four sums, one of each column
  EXPECT_THAT(gemm.faults(memory, memory + 2048), ElementsAre(HasSubstr("bias goes beyond")));
}

TEST(DeviceGemms, ReadAnActivationsInputInWholeColumns) {
  GemmCase gemm;
  const std::byte* const memory = gemm.memory;
  const auto faults_of = [&](const void* input, std::int64_t leading) {
    const auto epilogue = CUBLASLT_EPILOGUE_DGELU;
    const cublasLtMatmulDesc_t of = gemm.description;
    cublasLtMatmulDescSetAttribute(of, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(of, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &leading, sizeof leading);
    cublasLtMatmulDescSetAttribute(of, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &input, sizeof input);
    return gemm.faults(memory, memory + 2048);
  };
  EXPECT_THAT(faults_of(memory + 3072, 8), IsEmpty());
  EXPECT_THAT(faults_of(memory + 3072, 4), ElementsAre(HasSubstr("multiple of 8")));
  EXPECT_THAT(faults_of(memory + 3072 + 8, 8), ElementsAre(HasSubstr("input is not aligned to 16")));
  EXPECT_THAT(faults_of(memory + 4096 - 48, 8), ElementsAre(HasSubstr("input goes beyond")));
}

TEST(DeviceGemms, HaveShapesThatFit) {
  GemmCase gemm;
  cublasLtMatrixLayoutCreate(&gemm.b, CUDA_R_16F, 4, 3, 4);
  EXPECT_THAT(gemm.faults(gemm.memory, gemm.memory + 2048), ElementsAre(HasSubstr("do not fit")));
  const auto transposed = CUBLAS_OP_T;
  cublasLtMatmulDescSetAttribute(gemm.description, CUBLASLT_MATMUL_DESC_TRANSB, &transposed,
                                 sizeof transposed);
  EXPECT_THAT(gemm.faults(gemm.memory, gemm.memory + 2048), IsEmpty());
}

TEST(DeviceGemms, OfRowsOfAnOddLengthAreRefusedByTheBestAlgorithmAndBesideAnEpilogue) {
  GemmCase gemm;
  const std::byte* const memory = gemm.memory;
  gemm.set_rows(7);
  const auto run = [&](std::size_t rank) { return gemm.run(memory, memory + 2048, rank); };
  EXPECT_EQ(run(0), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run(1), CUBLAS_STATUS_NOT_SUPPORTED);
  gemm.set_epilogue(CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  EXPECT_EQ(run(0), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run(1), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(Ledger::own().take_faults(), IsEmpty());
}

TEST(DeviceGemms, OfABatchLieWithinTheirMemoryAndAsAlignedAsTheFirst) {
  GemmCase gemm;
  const std::byte* const memory = gemm.memory;
  const auto set_batch = [](cublasLtMatrixLayout_t matrix, std::int32_t count, std::int64_t stride) {
    cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride);
  };
  const auto faults = [&](const std::byte* first) { return gemm.faults(first, memory + 2048); };
  set_batch(gemm.a, 3, 8);
  EXPECT_THAT(faults(memory), ElementsAre(HasSubstr("batches of different counts")));
  set_batch(gemm.b, 3, 0);  // the same for all
  set_batch(gemm.d, 3, 32);
  EXPECT_THAT(faults(memory), IsEmpty());
  // the last one's 24 halves begin 32 bytes further on
  EXPECT_THAT(faults(memory + 4096 - 80), IsEmpty());
  EXPECT_THAT(faults(memory + 4096 - 64), ElementsAre(HasSubstr("A goes beyond")));
  set_batch(gemm.a, 3, 6);
  EXPECT_THAT(faults(memory), ElementsAre(HasSubstr("a stride of A that is no multiple of 16 bytes")));
  set_batch(gemm.a, 3, 8);
  set_batch(gemm.d, 3, 0);
  EXPECT_THAT(faults(memory), ElementsAre(HasSubstr("results of a batch overlap")));
}

}  // namespace
