// Measures convolutions by engine, type, pass and shape, in GFLOP/s.
//
//   OMP_NUM_THREADS=2 convolution_bench --benchmark_filter=auto/fp32
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <Kokkos_Core.hpp>
#include <string>

#include "mylos/base/device/arena.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace {

using namespace mylos;

enum class Pass { forward, input_gradient, weight_gradient };

struct Named {
  const char* name;
  ConvolutionShape shape;
  std::int64_t samples;
};

/// Layers of residual networks, of a U-Net, of ConvNeXt, and of a model of a volume.
const Named layers[] = {
    {"first", {.input = {{1, 64, 64}, 3}, .outputs = 32, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}, 16},
    {"narrow", {.input = {{1, 28, 28}, 32}, .outputs = 32, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}, 16},
    {"square", {.input = {{1, 28, 28}, 64}, .outputs = 64, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}, 16},
    {"wide", {.input = {{1, 7, 7}, 256}, .outputs = 256, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}, 16},
    {"strided",
     {.input = {{1, 28, 28}, 64},
      .outputs = 128,
      .kernel = {1, 3, 3},
      .stride = {1, 2, 2},
      .padding = {0, 1, 1}},
     16},
    {"periodic",
     {.input = {{1, 28, 28}, 64},
      .outputs = 64,
      .kernel = {1, 3, 3},
      .padding = {0, 1, 1},
      .padding_kind = PaddingKind::periodic},
     16},
    {"reflect",
     {.input = {{1, 28, 28}, 64},
      .outputs = 64,
      .kernel = {1, 3, 3},
      .padding = {0, 1, 1},
      .padding_kind = PaddingKind::reflect},
     16},
    {"one_point", {.input = {{1, 28, 28}, 64}, .outputs = 128}, 16},
    {"transposed",
     {.input = {{1, 14, 14}, 64},
      .outputs = 32,
      .kernel = {1, 2, 2},
      .stride = {1, 2, 2},
      .transposed = true},
     16},
    {"groups",
     {.input = {{1, 28, 28}, 64}, .outputs = 64, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 4},
     16},
    {"depthwise",
     {.input = {{1, 28, 28}, 64}, .outputs = 64, .kernel = {1, 7, 7}, .padding = {0, 3, 3}, .groups = 64},
     4},
    {"volume", {.input = {{16, 16, 16}, 32}, .outputs = 32, .kernel = {3, 3, 3}, .padding = {1, 1, 1}}, 4},
};

void convolve(benchmark::State& state, const std::string& engine_name, DType type, const Named& layer,
              Pass pass) {
  KernelOptions options;
  if (engine_name != "auto") options.gemm = gemm_engine_named(engine_name);
  const auto engines = make_engines(options);
  const Convolution convolution(layer.shape, type);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    const Arena arena("matrix", static_cast<std::size_t>(rows * columns) * size_of(type));
    fill(Execution{}, arena.tensor(0, type, rows, columns), 0.5f);
    return arena;
  };
  const std::int64_t inputs = layer.shape.input.columns();
  const std::int64_t outputs = convolution.output().columns();
  const Arena x = matrix(layer.samples, inputs);
  const Arena y = matrix(layer.samples, outputs);
  const Arena weights = matrix(weight_rows(layer.shape), weight_columns(layer.shape));
  const Arena workspace("workspace", convolution.workspace_bytes(*engines, layer.samples));
  const Tensor of_x = x.tensor(0, type, layer.samples, inputs);
  const Tensor of_y = y.tensor(0, type, layer.samples, outputs);
  const Tensor of_weights = weights.tensor(0, type, weight_rows(layer.shape), weight_columns(layer.shape));
  const Execution exec;
  const auto run = [&] {
    switch (pass) {
      case Pass::forward:
        convolution.forward(exec, *engines, of_x, of_weights, {}, of_y, workspace.data());
        break;
      case Pass::input_gradient:
        convolution.input_gradient(exec, *engines, of_y, of_weights, of_x, workspace.data());
        break;
      case Pass::weight_gradient:
        convolution.weight_gradient(exec, *engines, of_x, of_y, of_weights, {}, false, workspace.data());
        break;
    }
    exec.fence();
  };
  run();
  for (auto _ : state) run();
  const double flops = static_cast<double>(layer.samples) * flops_of(layer.shape);
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * flops, benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  auto engines = gemm_engine_names();
  engines.emplace_back("auto");
  const std::pair<const char*, Pass> passes[] = {
      {"y", Pass::forward}, {"dx", Pass::input_gradient}, {"dW", Pass::weight_gradient}};
  for (const auto& engine : engines) {
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
      for (const Named& layer : layers) {
        for (const auto& [pass_name, pass] : passes) {
          const std::string name = fmt::format("{}/{}/{}/{}", engine, name_of(type), layer.name, pass_name);
          benchmark::RegisterBenchmark(name.c_str(),
                                       [engine, type, &layer, pass = pass](benchmark::State& state) {
                                         convolve(state, engine, type, layer, pass);
                                       })
              ->UseRealTime()
              ->Unit(benchmark::kMillisecond);
        }
      }
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
