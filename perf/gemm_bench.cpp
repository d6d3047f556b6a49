// Measures GEMMs by engine, type and shape, in GFLOP/s (kernels/gemm/layer_gemms.hpp).
//
//   gemm_bench --table    the lines of src/mylos/kernels/gemm/tiles/gemm_table.cpp for this machine's
//   processor
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <string>
#include <string_view>

#include "gemm_engine_table.hpp"
#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/gemm/layer_gemms.hpp"

namespace mylos {
namespace {

using Bytes = Kokkos::View<std::byte*, Device>;

void multiply(benchmark::State& state, const std::string& engine_name, const GemmProblem& problem) {
  KernelOptions options;
  options.gemm = gemm_engine_named(engine_name);
  const auto engine = make_gemm_engine(options);
  const auto matrix = [](std::int64_t rows, std::int64_t columns, DType type) {
    return Bytes("matrix", static_cast<std::size_t>(rows * columns) * size_of(type));
  };
  const Bytes a = matrix(problem.m, problem.k, problem.a);
  const Bytes b = matrix(problem.k, problem.n, problem.b);
  const Bytes c = matrix(problem.m, problem.n, problem.c);
  const Arena workspace("workspace", engine->workspace_bytes(problem));
  const Execution execution;
  const auto run = [&] {
    engine->run(execution, problem, {a.data(), b.data(), c.data()}, workspace.data());
    execution.fence();
  };
  run();
  for (auto _ : state) run();
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * flops_of(problem), benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  for (const auto& engine : gemm_engine_names()) {
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
      for (const auto& [name, problem] : gemms_to_measure(type)) {
        benchmark::RegisterBenchmark(
            (engine + "/" + std::string(name_of(type)) + "/" + name).c_str(),
            [engine, problem = problem](benchmark::State& state) { multiply(state, engine, problem); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  const std::string_view first = argument_count > 1 ? arguments[1] : "";
  if (first == "--table") return mylos::print_gemm_table(arguments[0]);
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  if (constexpr std::string_view table_of = "--table="; first.starts_with(table_of)) {
    mylos::print_lines_of(std::string(first.substr(table_of.size())));
    return 0;
  }
  benchmark::Initialize(&argument_count, arguments);
  mylos::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
