// Products by engine, type and shape, in GFLOP/s: the three of every layer of an MLP 784-2048-2048-10 at
// batch 512, and those of a small transformer's layers at 1024 tokens; on a device also those of GPT-2 124M's
// at 16 x 1024 tokens.
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <string>
#include <vector>

#include "mylos/kernels/gemm.hpp"

namespace mylos {
namespace {

using Bytes = Kokkos::View<std::byte*, Device>;

struct Named {
  std::string name;
  GemmProblem problem;
};

struct Layer {
  std::int64_t samples;
  std::int64_t inputs;
  std::int64_t outputs;
};

constexpr Layer layers[] = {{512, 784, 2048},  {512, 2048, 2048}, {512, 2048, 10},  {1024, 384, 384},
                            {1024, 384, 1152}, {1024, 384, 1536}, {1024, 1536, 384}};
constexpr Layer large_layers[] = {{16384, 768, 2304}, {16384, 768, 3072}, {16384, 3072, 768}};

std::vector<Layer> all_layers() {
  std::vector<Layer> all(std::begin(layers), std::end(layers));
  if (!memory_is_host) all.insert(all.end(), std::begin(large_layers), std::end(large_layers));
  return all;
}

std::array<Named, 3> products_of(const Layer& layer, DType type) {
  const auto [samples, inputs, outputs] = layer;
  const std::string shape =
      std::to_string(samples) + "x" + std::to_string(inputs) + "x" + std::to_string(outputs);
  return {{{"y/" + shape, linear_output(samples, inputs, outputs, type)},
           {"dx/" + shape, linear_input_gradient(samples, inputs, outputs, type)},
           {"dW/" + shape, linear_weight_gradient(samples, inputs, outputs, type, type)}}};
}

GemmChoice choice_of(const std::string& name) {
  return name == "cublaslt" ? GemmChoice::cublaslt
         : name == "onednn" ? GemmChoice::onednn
         : name == "tiles"  ? GemmChoice::tiles
                            : GemmChoice::kokkos;
}

void multiply(benchmark::State& state, const std::string& engine_name, const GemmProblem& problem) {
  KernelOptions options;
  options.gemm = choice_of(engine_name);
  const auto engine = make_gemm_engine(options);
  const auto matrix = [](std::int64_t rows, std::int64_t columns, DType type) {
    return Bytes("matrix", static_cast<std::size_t>(rows * columns) * size_of(type));
  };
  const Bytes a = matrix(problem.m, problem.k, problem.a);
  const Bytes b = matrix(problem.k, problem.n, problem.b);
  const Bytes c = matrix(problem.m, problem.n, problem.c);
  const Bytes workspace("workspace", engine->workspace_bytes(problem));
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
      for (const Layer& layer : all_layers()) {
        for (const auto& [name, problem] : products_of(layer, type)) {
          benchmark::RegisterBenchmark(
              (engine + "/" + std::string(name_of(type)) + "/" + name).c_str(),
              [engine, problem = problem](benchmark::State& state) { multiply(state, engine, problem); })
              ->UseRealTime()
              ->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  benchmark::Initialize(&argument_count, arguments);
  const Kokkos::ScopeGuard kokkos(argument_count, arguments);
  mylos::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
