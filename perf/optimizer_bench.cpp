// Measures the fused AdamW pass by element count and type, and a kernel that only streams the same arrays, to
// show which fraction of the memory's speed the update reaches.
//
// Also measures stochastic rounding of weights without masters, and Lamb, which reads weights and moments
// twice.
//
// Bytes per element, also for Lamb: gradient read, master and two moments read and written (24), compute
// weight written.
#include <benchmark/benchmark.h>
#include <mpi.h>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/optim/update/optimizer.hpp"

namespace mylos {
namespace {

/// A model that is one square matrix (and a bias that does not count) of about `elements` weights.
Chain one_matrix(std::int64_t elements, DType type) {
  ModelOptions model;
  model.inputs = model.outputs = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  PrecisionOptions precision;
  precision.compute = type;
  return make_mlp(model, precision, 1, false);
}

std::int64_t bytes_per_element(DType type) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return 24 + size + (type == DType::fp32 ? 0 : size);  // fp32: the masters are the compute weights
}

void report(benchmark::State& state, std::int64_t elements, DType type) {
  state.SetBytesProcessed(state.iterations() * elements * bytes_per_element(type));
  state.SetItemsProcessed(state.iterations() * elements);
  state.SetLabel(std::string(name_of(type)));
}

void update(benchmark::State& state, const OptimizerOptions& options) {
  const auto type = static_cast<DType>(state.range(1));
  const Execution exec;
  ParameterStore store(make_parameter_layout(one_matrix(state.range(0), type), 1 << 20, 1));
  store.initialize(exec, 1);
  const std::vector<float> divisors(store.layout().buckets.size(), 1.0f);
  const Optimizer optimizer(options, store, divisors);
  const Kokkos::View<UpdateControl, Device> control("control");
  Kokkos::deep_copy(control, UpdateControl{.apply = 1, .gradient_factor = 1, .lr = 1e-3f});
  optimizer.update(exec, control.data());
  exec.fence();
  for (auto iteration : state) {
    optimizer.update(exec, control.data());
    exec.fence();
  }
  report(state, store.layout().slots[0].size(), type);
}

void fused_adamw(benchmark::State& state) {
  update(state, {});
}

void lamb(benchmark::State& state) {
  update(state, {.type = OptimizerType::lamb});
}

/// The update of 16-bit weights without masters, with stochastic rounding.
void rounded_adamw(benchmark::State& state) {
  const auto type = static_cast<DType>(state.range(1));
  const Execution exec;
  Chain chain = one_matrix(state.range(0), type);
  chain.masters = MasterWeights::none;
  ParameterStore store(make_parameter_layout(chain, 1 << 20, 1));
  store.initialize(exec, 1);
  const std::vector<float> divisors(store.layout().buckets.size(), 1.0f);
  const Optimizer optimizer({}, store, divisors);
  const Kokkos::View<UpdateControl, Device> control("control");
  UpdateControl now{.apply = 1, .gradient_factor = 1, .lr = 1e-3f};
  for (auto iteration : state) {
    ++now.updates;
    Kokkos::deep_copy(control, now);
    optimizer.update(exec, control.data());
    exec.fence();
  }
  const std::int64_t elements = store.layout().slots[0].size();
  const auto width = static_cast<std::int64_t>(size_of(type));
  state.SetBytesProcessed(state.iterations() * elements * (16 + 3 * width));
  state.SetItemsProcessed(state.iterations() * elements);
  state.SetLabel(std::string(name_of(type)));
}

/// STREAM's triad extended to the update's arrays: the same loads and stores, almost no arithmetic.
template <class T>
void stream_arrays(const Execution& exec, const ParameterStore& store, const Optimizer& optimizer) {
  const ParameterSlot& slot = store.layout().slots[0];
  const T* gradient = store.gradient(slot).as<T>();
  float* master = store.master(slot).as<float>();
  float* m = optimizer.moment(0, 0).values.as<float>();
  float* v = optimizer.moment(1, 0).values.as<float>();
  T* weight = store.compute_weight(slot).as<T>();
  const bool has_masters = !std::is_same_v<T, float>;  // no if constexpr: nvcc's lambdas capture before it
  for_each_element(
      exec, "stream", slot.size(), KOKKOS_LAMBDA(const std::int64_t i) {
        const float sum = master[i] + 0.5f * to_float(gradient[i]);
        master[i] = sum;
        m[i] = 0.5f * m[i] + sum;
        v[i] = 0.5f * v[i] + sum;
        if (has_masters) weight[i] = from_float<T>(sum);
      });
}

void streaming_kernel(benchmark::State& state) {
  const auto type = static_cast<DType>(state.range(1));
  const Execution exec;
  ParameterStore store(make_parameter_layout(one_matrix(state.range(0), type), 1 << 20, 1));
  store.initialize(exec, 1);
  const std::vector<float> divisors(store.layout().buckets.size(), 1.0f);
  const Optimizer optimizer({}, store, divisors);
  dispatch(type, [&]<class T>(TypeTag<T>) {
    stream_arrays<T>(exec, store, optimizer);
    exec.fence();
    for (auto iteration : state) {
      stream_arrays<T>(exec, store, optimizer);
      exec.fence();
    }
  });
  report(state, store.layout().slots[0].size(), type);
}

void sizes_and_types(benchmark::internal::Benchmark* benchmark) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const int power : {16, 20, 22, 24, 26})
      benchmark->Args({std::int64_t{1} << power, static_cast<int>(type)});
  }
  benchmark->UseRealTime();
}
BENCHMARK(fused_adamw)->Apply(sizes_and_types);
BENCHMARK(lamb)->Apply(sizes_and_types);
BENCHMARK(rounded_adamw)
    ->ArgsProduct({{1 << 20, 1 << 24}, {static_cast<int>(DType::bf16), static_cast<int>(DType::fp16)}})
    ->UseRealTime();
BENCHMARK(streaming_kernel)->Apply(sizes_and_types);

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  benchmark::Initialize(&argument_count, arguments);
  {
    const Kokkos::ScopeGuard guard(argument_count, arguments);
    benchmark::RunSpecifiedBenchmarks();
  }
  MPI_Finalize();
}
