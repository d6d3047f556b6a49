// Each misuse of CUDA and NCCL that the stand-ins are there to find, and the use that they must not complain
// of.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "ledger.hpp"
#include "test_memory.hpp"

extern "C" {
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void kokkosp_push_profile_region(const char*);
void kokkosp_pop_profile_region();
struct Kokkos_Profiling_SpaceHandle {
  char name[64];
};
void kokkosp_allocate_data(Kokkos_Profiling_SpaceHandle, const char*, const void*, std::uint64_t);
void kokkosp_deallocate_data(Kokkos_Profiling_SpaceHandle, const char*, const void*, std::uint64_t);
}

namespace {

using device_use::a_stream;
using device_use::Calls;
using device_use::device_bytes;
using device_use::Ledger;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

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

TEST(DeviceMemory, IsCountedWhereItsArraysAreMost) {
  const auto take = [](Kokkos_Profiling_SpaceHandle space, const char* label, std::uint64_t bytes) {
    kokkosp_allocate_data(space, label, nullptr, bytes);
  };
  take({"Cuda"}, "weights", 100);
  take({"Cuda"}, "batch", 30);
  take({"Host"}, "batch", 1000);
  take({"Cuda"}, "Kokkos::scratch", 1000);
  kokkosp_deallocate_data({"Cuda"}, "batch", nullptr, 30);
  take({"Cuda"}, "sums", 20);
  EXPECT_THAT(Ledger::own().max_allocated(), ElementsAre(Pair("batch", 30), Pair("weights", 100)));
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

TEST(Memory, IsClearedToTheByte) {
  constexpr std::size_t bytes = 5 * 4096;
  const std::vector<char> sevens(bytes, 7);
  for (const auto& [first, count] :
       {std::pair<std::size_t, std::size_t>{0, bytes}, {100, 50}, {4000, 9000}, {8192, 4096}}) {
    std::byte* const there = device_bytes(bytes);
    std::vector<char> expected = sevens, found(bytes);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(first), count, '\0');
    cudaMemcpy(there, sevens.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemset(there + first, 0, count);
    cudaMemcpy(found.data(), there, bytes, cudaMemcpyDeviceToHost);
    EXPECT_EQ(found, expected) << count << " bytes from " << first;
  }
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

/// The faults of a capture on `stream` in which `calls` are made.
template <class Work>
std::set<std::string> faults_of_capture(cudaStream_t stream, const Work& calls) {
  cudaGraph_t captured = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  calls();
  cudaStreamEndCapture(stream, &captured);
  cudaGraphDestroy(captured);
  return Ledger::own().take_faults();
}

TEST(Graphs, ContainOtherStreamsThatForkAndJoin) {
  cudaStream_t stream = a_stream(), other = nullptr;
  cudaStreamCreate(&other);
  cudaEvent_t fork = nullptr, join = nullptr;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  std::byte* const there = device_bytes(64);
  const auto exchange = [&] {
    ncclResult_t state = ncclAllReduce(there, there, 4, ncclFloat32, ncclSum, nullptr, other);
    while (state == ncclInProgress) ncclCommGetAsyncError(nullptr, &state);
  };
  const auto fork_and_exchange = [&] {
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(other, fork, 0);
    exchange();
    cudaEventRecord(join, other);
  };
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_THAT(faults_of_capture(stream,
                                [&] {
                                  fork_and_exchange();
                                  cudaStreamIsCapturing(other, &status);
                                  cudaStreamWaitEvent(stream, join, 0);
                                }),
              IsEmpty());
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_THAT(faults_of_capture(stream, fork_and_exchange), ElementsAre(HasSubstr("nothing waits for")));
  cudaStreamWaitEvent(stream, join, 0);
  EXPECT_THAT(Ledger::own().take_faults(), ElementsAre(HasSubstr("a capture that has ended")));
  EXPECT_THAT(faults_of_capture(stream, exchange), ElementsAre(HasSubstr("on a stream that the capture")));
  cudaEventRecord(join, other);
  EXPECT_THAT(faults_of_capture(stream, [&] { cudaStreamWaitEvent(stream, join, 0); }),
              ElementsAre(HasSubstr("work that is not captured")));
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
