// A library that the driver loads into any CUDA program. It records when each kernel, copy and fill ran on
// the device, also in graphs.
//
//   CUDA_INJECTION64_PATH=libmylos_kernel_trace.so MYLOS_KERNEL_TRACE=trace.tsv PROGRAM ...
//
// writes a line for each to trace.tsv when it receives the record: begin and end (nanoseconds), stream,
// kernel's registers, bytes of shared memory, blocks, threads of a block, name. Kernels run as without it
// (CUPTI's activity interface).
#include <cupti.h>
#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace {

constexpr std::size_t buffer_bytes = std::size_t{4} << 20;

/// The file. It stays open until the process ends, because CUPTI's own thread writes to it.
struct Trace {
  std::FILE* file = nullptr;
  std::mutex mutex;
};
Trace& trace() {
  static Trace* const it = new Trace;
  return *it;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

void write(std::uint64_t begin, std::uint64_t end, std::uint32_t stream, const char* name) {
  std::fprintf(trace().file, "%llu\t%llu\t%u\t0\t0\t0\t0\t%s\n", static_cast<unsigned long long>(begin),
               static_cast<unsigned long long>(end), stream, name);
}

void write(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      std::fprintf(trace().file, "%llu\t%llu\t%u\t%d\t%lld\t%lld\t%lld\t%s\n",
                   static_cast<unsigned long long>(kernel.start), static_cast<unsigned long long>(kernel.end),
                   kernel.streamId, static_cast<int>(kernel.registersPerThread),
                   static_cast<long long>(kernel.staticSharedMemory) + kernel.dynamicSharedMemory,
                   static_cast<long long>(kernel.gridX) * kernel.gridY * kernel.gridZ,
                   static_cast<long long>(kernel.blockX) * kernel.blockY * kernel.blockZ,
                   demangled(kernel.name).c_str());
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      return write(copy.start, copy.end, copy.streamId, "memcpy");
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      return write(fill.start, fill.end, fill.streamId, "memset");
    }
    default:
      return;
  }
}

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *bytes = *buffer == nullptr ? 0 : buffer_bytes;
  *max_records = 0;
}

void CUPTIAPI take_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                          std::size_t /*bytes*/, std::size_t valid) {
  {
    const std::lock_guard lock(trace().mutex);
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) write(*record);
    std::fflush(trace().file);
  }
  std::free(buffer);
}

}  // namespace

/// The driver calls it when the program first uses CUDA. Returns nonzero on success.
extern "C" int InitializeInjection() {
  const char* const path = std::getenv("MYLOS_KERNEL_TRACE");
  if (path == nullptr || (trace().file = std::fopen(path, "w")) == nullptr) {
    std::fprintf(stderr, "kernel trace: MYLOS_KERNEL_TRACE names no file that can be written\n");
    return 0;
  }
  const auto works = [](CUptiResult result, const char* what) {
    if (result == CUPTI_SUCCESS) return true;
    const char* text = nullptr;
    cuptiGetResultString(result, &text);
    std::fprintf(stderr, "kernel trace: CUPTI does not %s: %s\n", what, text == nullptr ? "" : text);
    return false;
  };
  if (!works(cuptiActivityRegisterCallbacks(request_buffer, take_buffer), "take buffers")) return 0;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
    if (!works(cuptiActivityEnable(kind), "record kernels")) return 0;
  }
  std::atexit([] { cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); });
  return 1;
}
