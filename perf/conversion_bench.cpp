// Measures conversions between element types by size, and a streaming-store copy of the same bytes.
//
//   OMP_NUM_THREADS=2 conversion_bench        # bytes_per_second counts bytes read and written
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <Kokkos_Core.hpp>

#include "mylos/base/device/arena.hpp"
#include "mylos/kernels/convert.hpp"

namespace {

using namespace mylos;

void run(benchmark::State& state, const Tensor& from, const Tensor& to) {
  const Execution exec;
  for (auto _ : state) {
    convert(exec, from, to);
    exec.fence();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(from.bytes() + to.bytes()) * state.iterations());
}

/// The bytes of `from` and `to` together are `bytes`.
void convert_bytes(benchmark::State& state, DType from, DType to) {
  const auto count = state.range(0) / static_cast<std::int64_t>(size_of(from) + size_of(to));
  const Arena source("from", static_cast<std::size_t>(count) * size_of(from));
  const Arena target("to", static_cast<std::size_t>(count) * size_of(to));
  const Tensor input = source.tensor(0, from, 1, count);
  fill(Execution{}, input, 1.5f);
  run(state, input, target.tensor(0, to, 1, count));
}

/// Copies floats; from 8 MiB on convert() copies with streaming stores.
void copy_bytes(benchmark::State& state) {
  convert_bytes(state, DType::fp32, DType::fp32);
}

void register_all() {
  constexpr std::int64_t smallest = std::int64_t{1} << 16;
  constexpr std::int64_t largest = std::int64_t{3} << 28;  // 768 MiB moved: no side is smaller than 256 MiB
  const auto sizes = [](benchmark::internal::Benchmark* bench) {
    for (std::int64_t bytes = smallest; bytes < largest; bytes *= 16) bench->Arg(bytes);
    bench->Arg(largest)->UseRealTime();
  };
  sizes(benchmark::RegisterBenchmark("copy", copy_bytes));
  constexpr DType types[] = {DType::fp32, DType::fp16, DType::bf16};
  for (const DType from : types) {
    for (const DType to : types) {
      if (from == to) continue;
      sizes(benchmark::RegisterBenchmark(fmt::format("{}_to_{}", name_of(from), name_of(to)).c_str(),
                                         convert_bytes, from, to));
    }
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard guard(argument_count, arguments);
  benchmark::Initialize(&argument_count, arguments);
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
