// Measures attention's two passes by type and shape, in GFLOP/s of the matrix products below the diagonal:
// one layer of a GPT of 6 heads (384 wide, context 256, batch 4) and one of 4 heads (128 wide, context 64,
// batch 12).
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <string>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {
namespace {

/// FLOPs: 2 * head_width for every score at or below the diagonal.
double flops_of(const AttentionShape& shape, int gemms) {
  const auto length = static_cast<double>(shape.length);
  return gemms * static_cast<double>(shape.samples * shape.width()) * length * (length + 1);
}

/// A batch with its results. Its numbers are small and differ; the time depends on nothing else.
struct Batch {
  Batch(const Engines& all, const AttentionShape& of) : engines(all), shape(of) {
    dispatch(shape.type, [&]<class T>(TypeTag<T>) {
      const auto fill_with = [](const Tensor& tensor, int step) {
        const auto view = tensor.flat<T>();
        const auto host = Kokkos::create_mirror_view(view);
        for (std::size_t i = 0; i < host.extent(0); ++i)
          host(i) = from_float<T>(static_cast<float>(i * static_cast<std::size_t>(step) % 255) / 128 - 1);
        Kokkos::deep_copy(view, host);
      };
      fill_with(qkv, 37);
      fill_with(d_output, 53);
    });
  }
  void forward(const Dropout& dropout) const {
    attention_forward(exec, engines, shape, qkv, output, log_sums.as<float>(), dropout, workspace.data());
  }
  void backward(const Dropout& dropout) const {
    attention_backward(exec, engines, shape, qkv, output, log_sums.as<float>(), d_output, d_qkv, dropout,
                       workspace.data());
  }
  Tensor cut(std::int64_t columns) {
    const Tensor tensor = memory.tensor(used, shape.type, shape.rows(), columns);
    used += aligned_bytes(tensor.bytes());
    return tensor;
  }

  Engines engines;
  AttentionShape shape;
  Execution exec;
  Arena memory{"batch", 9 * aligned_bytes(static_cast<std::size_t>(shape.rows() * shape.width()) * 4)};
  std::size_t used = 0;
  Tensor qkv = cut(3 * shape.width());
  Tensor d_qkv = cut(3 * shape.width());
  Tensor output = cut(shape.width());
  Tensor d_output = cut(shape.width());
  Arena sums{"log sums", static_cast<std::size_t>(shape.rows() * shape.heads) * 4};
  Tensor log_sums = sums.tensor(0, DType::fp32, 1, shape.rows() * shape.heads);
  Arena workspace{"workspace", std::max(attention_forward_workspace(engines, shape),
                                        attention_backward_workspace(engines, shape))};
};

void measure(benchmark::State& state, const AttentionShape& shape, bool backward, float probability) {
  const auto engines = make_engines({});
  const Batch batch(*engines, shape);
  const Kokkos::View<std::uint64_t, Device> step("step");
  const Dropout dropout{RandomStream(1, RandomPurpose::dropout, "attention1"), probability, step.data(), 0};
  batch.forward(dropout);
  const auto run = [&] {
    backward ? batch.backward(dropout) : batch.forward(dropout);
    batch.exec.fence();
  };
  run();
  for (auto _ : state) run();
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * flops_of(shape, backward ? 5 : 2),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  for (const AttentionShape& sizes : {AttentionShape{4, 256, 6, 64}, AttentionShape{12, 64, 4, 32}}) {
    for (const DType type : {DType::bf16, DType::fp32, DType::fp16}) {
      for (const float probability : {0.0f, 0.2f}) {
        for (const bool backward : {false, true}) {
          AttentionShape shape = sizes;
          shape.type = type;
          const std::string name = std::string(backward ? "backward" : "forward") + "/" +
                                   std::to_string(shape.samples) + "x" + std::to_string(shape.length) + "x" +
                                   std::to_string(shape.width()) + "/" + std::string(name_of(type)) +
                                   (probability > 0 ? "/dropout" : "");
          benchmark::RegisterBenchmark(
              name.c_str(), [=](benchmark::State& state) { measure(state, shape, backward, probability); })
              ->UseRealTime()
              ->Unit(benchmark::kMicrosecond);
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
