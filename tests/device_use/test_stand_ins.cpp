// Each misuse that the stand-ins are there to find, and the use that they must not complain of.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "ledger.hpp"

extern "C" {
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void kokkosp_push_profile_region(const char*);
void kokkosp_pop_profile_region();
}

namespace {

using device_use::Calls;
using device_use::Ledger;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::byte* device_bytes(std::size_t bytes) {
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, bytes), cudaSuccess);
  return static_cast<std::byte*>(address);
}

cudaStream_t a_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  return stream;
}

/// What `calls` do in a step.
template <class Work>
Calls in_step(const Work& calls) {
  kokkosp_push_profile_region("step");
  kokkosp_push_profile_region("forward");
  calls();
  kokkosp_pop_profile_region();
  kokkosp_pop_profile_region();
  return Ledger::own().last_step();
}

TEST(DeviceMemory, IsCopiedAndNeverTouched) {
  std::byte* const there = device_bytes(8);
  const double sent = 42;
  double received = 0;
  EXPECT_EQ(cudaMemcpy(there, &sent, 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(&received, there, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(received, sent);
  EXPECT_EXIT(there[0] = std::byte{1}, testing::ExitedWithCode(70), "the host reads or writes device memory");
  EXPECT_EQ(cudaFree(there), cudaSuccess);
  EXPECT_EQ(cudaFree(there), cudaErrorInvalidValue);
}

TEST(Steps, CountWaitsAndWhatACaptureForbids) {
  cudaStream_t stream = a_stream();
  std::byte* const there = device_bytes(64);
  void* pinned = nullptr;
  cudaMallocHost(&pinned, 64);
  char pageable[64] = {};
  const Calls good = in_step([&] {
    cudaMemcpyAsync(there, pinned, 64, cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(there, 0, 64, stream);
  });
  EXPECT_THAT(good.waits, IsEmpty());
  EXPECT_THAT(good.not_in_capture, IsEmpty());
  EXPECT_EQ(good.copies.size(), 2u);
  const Calls bad = in_step([&] {
    cudaMemcpyAsync(there, pageable, 64, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    void* more = nullptr;
    cudaMalloc(&more, 0);
    cudaStreamQuery(stream);
    cudaMemsetAsync(there, 0, 64, nullptr);
  });
  EXPECT_EQ(bad.waits.size(), 2u);
  EXPECT_EQ(bad.not_in_capture.size(), 5u);
  EXPECT_EQ(bad.not_in_capture.count("cudaMalloc"), 1u);
  EXPECT_THAT(Ledger::own().take_faults(), IsEmpty());
}

TEST(Graphs, CountWhatTheyRecordedWhereTheyAreLaunched) {
  cudaStream_t stream = a_stream();
  std::byte* const there = device_bytes(64);
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t graph = nullptr;
  const auto record = [&](bool waits) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaMemsetAsync(there, 0, 64, stream);
    if (waits) cudaStreamSynchronize(stream);
    cudaStreamEndCapture(stream, &captured);
    cudaGraphInstantiate(&graph, captured, 0);
    cudaGraphDestroy(captured);
  };
  const Calls made = in_step([&] { record(false); });
  EXPECT_THAT(made.copies, IsEmpty()) << "recorded, not made";
  const Calls launched = in_step([&] { cudaGraphLaunch(graph, stream); });
  EXPECT_EQ(launched.launches.at("cudaGraphLaunch"), 1);
  EXPECT_EQ(launched.recorded.size(), 1u);
  EXPECT_THAT(launched.not_in_capture, IsEmpty());
  EXPECT_THAT(Ledger::own().take_faults(), IsEmpty());
  in_step([&] { record(true); });
  EXPECT_THAT(Ledger::own().take_faults(),
              ElementsAre(HasSubstr("cudaStreamSynchronize while work is recorded")));
}

TEST(Steps, AreOfOneThread) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  const Calls beside = in_step([&] { std::thread([&] { cudaEventSynchronize(event); }).join(); });
  EXPECT_THAT(beside.waits, IsEmpty());
  EXPECT_EQ(in_step([&] { cudaEventSynchronize(event); }).waits.size(), 1u);
}

void add_kernel(const char* function, const char* name) {
  __cudaRegisterFunction(nullptr, function, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
}

/// As check.py tells of what ptxas said; read when the first kernel is brought.
class PtxasSays final : public testing::Environment {
  void SetUp() override {
    const std::string path = testing::TempDir() + "kernels.txt";
    std::ofstream(path) << "hungry_kernel 255 4096\n";
    setenv("MYLOS_DEVICE_USE_KERNELS", path.c_str(), 1);
  }
};
testing::Environment* const ptxas_says = testing::AddGlobalTestEnvironment(new PtxasSays);

TEST(Launches, HaveRegistersForEveryThread) {
  static const char kernel = 'h';
  add_kernel(&kernel, "hungry_kernel");
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &kernel), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 256);  // 8 warps of 32 * 256 registers
  EXPECT_EQ(attributes.sharedSizeBytes, 4096u);
  const auto launch = [&](unsigned threads) {
    cudaLaunchKernel(&kernel, {1, 1, 1}, {threads, 1, 1}, nullptr, 0, a_stream());
    return Ledger::own().take_faults();
  };
  EXPECT_THAT(launch(256), IsEmpty());
  EXPECT_THAT(launch(288), ElementsAre(HasSubstr("288 threads in a block, and registers for 256")));
}

TEST(Launches, StayWithinTheDevice) {
  static const char kernel = 'k';
  add_kernel(&kernel, "a_kernel");
  cudaStream_t stream = a_stream();
  const auto launch = [&](dim3 grid, dim3 block, std::size_t shared_bytes) {
    EXPECT_EQ(cudaLaunchKernel(&kernel, grid, block, nullptr, shared_bytes, stream), cudaSuccess);
    return Ledger::own().take_faults();
  };
  const Calls step = in_step([&] {
    EXPECT_THAT(launch({70000, 65535, 1}, {32, 32, 1}, 48 << 10), IsEmpty());
  });
  EXPECT_EQ(step.launches.at("a_kernel"), 1);
  EXPECT_THAT(launch({1, 65536, 1}, {1, 1, 1}, 0), ElementsAre(HasSubstr("a grid beyond")));
  EXPECT_THAT(launch({0, 1, 1}, {1, 1, 1}, 0), ElementsAre(HasSubstr("no blocks")));
  EXPECT_THAT(launch({1, 1, 1}, {1, 1, 128}, 0), ElementsAre(HasSubstr("a block beyond")));
  EXPECT_THAT(launch({1, 1, 1}, {64, 32, 1}, 0), ElementsAre(HasSubstr("2048 threads")));
  EXPECT_THAT(launch({1, 1, 1}, {1, 1, 1}, 50 << 10), ElementsAre(HasSubstr("shared memory")));
  cudaFuncSetAttribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  EXPECT_THAT(launch({1, 1, 1}, {1, 1, 1}, 50 << 10), IsEmpty());
}

/// A [2, 3] times B [3, 4] in half, column by column, with a bias.
struct Product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::byte* memory = device_bytes(4096);
  std::size_t workspace_bytes = 1024;
  std::size_t promised = 16;  // alignment of A
  cudaStream_t stream = a_stream();

  Product() {
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, 2, 3, 2);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_16F, 3, 4, 3);
    cublasLtMatrixLayoutCreate(&d, CUDA_R_16F, 2, 4, 2);
    set_epilogue(CUBLASLT_EPILOGUE_BIAS, memory + 512);
  }
  void set_epilogue(cublasLtEpilogue_t epilogue, const void* bias) const {
    const auto type = static_cast<std::int32_t>(CUDA_R_16F);
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
  }
  /// Faults of a product whose A lies there.
  [[nodiscard]] std::set<std::string> faults(const std::byte* first, const std::byte* workspace) const {
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
    cublasLtMatmul(handle, description, &one, first, a, memory + 256, b, &zero, memory + 1024, d,
                   memory + 1024, d, &result[0].algo, const_cast<std::byte*>(workspace), workspace_bytes,
                   stream);
    return Ledger::own().take_faults();
  }
};

TEST(Products, LieWhereTheyWereSaidTo) {
  Product product;
  const std::byte* const memory = product.memory;
  EXPECT_THAT(product.faults(memory, memory + 2048), IsEmpty());
  EXPECT_THAT(product.faults(memory + 8, memory + 2048),
              ElementsAre(HasSubstr("A is not aligned to 16 bytes")));
  EXPECT_THAT(product.faults(memory, memory + 2048 + 64),
              ElementsAre(HasSubstr("workspace is not aligned to 256")));
  EXPECT_THAT(product.faults(memory, memory + 3328), ElementsAre(HasSubstr("workspace goes beyond")));
  static const std::byte on_host[64] = {};
  EXPECT_THAT(product.faults(on_host, memory + 2048),
              ElementsAre(HasSubstr("does not lie in device memory")));
  product.promised = 256;  // the library's default where nobody says anything
  EXPECT_THAT(product.faults(memory + 16, memory + 2048),
              ElementsAre(HasSubstr("A is not aligned to 256 bytes")));
  product.promised = 16;
  product.workspace_bytes = 512;
  EXPECT_THAT(product.faults(memory, memory + 2048), ElementsAre(HasSubstr("less workspace")));
}

TEST(Products, ShowTheirBiasBeforeTheyAreChosen) {
  Product product;
  const std::byte* const memory = product.memory;
  product.set_epilogue(CUBLASLT_EPILOGUE_BIAS, nullptr);
  EXPECT_THAT(product.faults(memory, memory + 2048),
              testing::Contains(HasSubstr("before the library saw the bias")));
  product.set_epilogue(CUBLASLT_EPILOGUE_BIAS, memory + 4096 - 4);  // two halves
  EXPECT_THAT(product.faults(memory, memory + 2048), IsEmpty());
  product.set_epilogue(CUBLASLT_EPILOGUE_BGRADB, memory + 4096 - 4);  // four sums, one of each column
  EXPECT_THAT(product.faults(memory, memory + 2048), ElementsAre(HasSubstr("bias goes beyond")));
}

TEST(Products, ReadAnActivationsInputInWholeColumns) {
  Product product;
  const std::byte* const memory = product.memory;
  const auto faults_of = [&](const void* input, std::int64_t leading) {
    const auto epilogue = CUBLASLT_EPILOGUE_DGELU;
    const cublasLtMatmulDesc_t of = product.description;
    cublasLtMatmulDescSetAttribute(of, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(of, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &leading, sizeof leading);
    cublasLtMatmulDescSetAttribute(of, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &input, sizeof input);
    return product.faults(memory, memory + 2048);
  };
  EXPECT_THAT(faults_of(memory + 3072, 8), IsEmpty());
  EXPECT_THAT(faults_of(memory + 3072, 4), ElementsAre(HasSubstr("multiple of 8")));
  EXPECT_THAT(faults_of(memory + 3072 + 8, 8), ElementsAre(HasSubstr("input is not aligned to 16")));
  EXPECT_THAT(faults_of(memory + 4096 - 48, 8), ElementsAre(HasSubstr("input goes beyond")));
}

TEST(Products, HaveShapesThatFit) {
  Product product;
  cublasLtMatrixLayoutCreate(&product.b, CUDA_R_16F, 4, 3, 4);
  EXPECT_THAT(product.faults(product.memory, product.memory + 2048), ElementsAre(HasSubstr("do not fit")));
  const auto transposed = CUBLAS_OP_T;
  cublasLtMatmulDescSetAttribute(product.description, CUBLASLT_MATMUL_DESC_TRANSB, &transposed,
                                 sizeof transposed);
  EXPECT_THAT(product.faults(product.memory, product.memory + 2048), IsEmpty());
}

TEST(Products, OfABatchLieWithinTheirMemoryAndAsAlignedAsTheFirst) {
  Product product;
  const std::byte* const memory = product.memory;
  const auto set_batch = [](cublasLtMatrixLayout_t matrix, std::int32_t count, std::int64_t stride) {
    cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride);
  };
  const auto faults = [&](const std::byte* first) { return product.faults(first, memory + 2048); };
  set_batch(product.a, 3, 8);
  EXPECT_THAT(faults(memory), ElementsAre(HasSubstr("batches of different counts")));
  set_batch(product.b, 3, 0);  // the same for all
  set_batch(product.d, 3, 8);
  EXPECT_THAT(faults(memory), IsEmpty());
  // the last one's six halves begin 32 bytes further on
  EXPECT_THAT(faults(memory + 4096 - 48), IsEmpty());
  EXPECT_THAT(faults(memory + 4096 - 32), ElementsAre(HasSubstr("A goes beyond")));
  set_batch(product.a, 3, 6);
  EXPECT_THAT(faults(memory), ElementsAre(HasSubstr("a stride of A that is no multiple of 16 bytes")));
  set_batch(product.a, 3, 8);
  set_batch(product.d, 3, 0);
  EXPECT_THAT(faults(memory), ElementsAre(HasSubstr("results of a batch overlap")));
}

TEST(Collectives, UseTheDevicesMemory) {
  std::byte* const memory = device_bytes(64);
  float on_host[4] = {};
  const auto reduce = [&](void* buffer, std::size_t count) {
    ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, nullptr, a_stream());
    return Ledger::own().take_faults();
  };
  EXPECT_THAT(reduce(memory, 16), IsEmpty());
  EXPECT_THAT(reduce(memory, 17), testing::Each(HasSubstr("goes beyond")));
  EXPECT_EQ(reduce(on_host, 4).size(), 2u);
}

TEST(Ledger, IsWrittenAsJson) {
  const std::string path = testing::TempDir() + "ledger.json";
  setenv("MYLOS_DEVICE_USE", path.c_str(), 1);
  in_step([] { cudaDeviceSynchronize(); });
  Ledger::own().write();
  unsetenv("MYLOS_DEVICE_USE");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("\"waits\": {\"cudaDeviceSynchronize\": 1}"));
  EXPECT_THAT(text.str(), HasSubstr("\"faults\": []"));
}

}  // namespace
