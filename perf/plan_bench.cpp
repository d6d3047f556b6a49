// Measures the time to plan a GPT by its number of layers (two blocks each, and two more) and the budget, in
// percent of the bytes of all activations. The shapes are those of GPT-2 XL; nothing of that size is
// allocated.
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/planner/plan.hpp"

namespace mylos {
namespace {

void plan_of_gpt(benchmark::State& state) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = state.range(0);
  model.heads = 25;
  model.width = 1600;
  model.context = 1024;
  model.vocabulary = 50304;
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  const auto engines = make_engines({});
  const ChainCost cost = chain_cost(make_chain(model, precision, 1, false), *engines, 16 * model.context);
  const std::size_t all = place(trace_lifetimes(cost, store_all(cost.blocks.size()))).bytes;
  const std::size_t budget = all / 100 * static_cast<std::size_t>(state.range(1));
  for (auto iteration : state) benchmark::DoNotOptimize(make_plan(cost, budget, {}));
}

BENCHMARK(plan_of_gpt)
    ->ArgsProduct({{12, 24, 48, 100, 150, 300, 500, 1000}, {20, 50, 80}})
    ->ArgNames({"layers", "budget"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  benchmark::Initialize(&argument_count, arguments);
  const Kokkos::ScopeGuard guard(argument_count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
