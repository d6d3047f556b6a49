// What a step may not do once it runs: allocate, wait, or copy to the host.
#include <gtest/gtest.h>

#include <string_view>

#include "mylos/model/make_chain.hpp"
#include "support/allocation_counter.hpp"
#include "train/engines.hpp"
#include "train/faulty_block.hpp"
#include "train/synthetic.hpp"

namespace mylos::steady_state_test {

using namespace testing_support;  // NOLINT

/// What Kokkos Tools report.
struct Events {
  long allocations = 0;
  long fences = 0;
  long copies = 0;
  long kernels = 0;
};
Events events;  // NOLINT: callbacks of Kokkos Tools are plain functions

namespace tools = Kokkos::Tools::Experimental;

class EventCounter {
 public:
  EventCounter() {
    events = {};
    tools::set_allocate_data_callback([](const Kokkos_Profiling_SpaceHandle, const char*, const void*,
                                         std::uint64_t) { ++events.allocations; });
    tools::set_begin_fence_callback([](const char* name, std::uint32_t, std::uint64_t*) {
      // Kokkos fences around kernels for the tool's sake; without a tool they are not there.
      if (std::string_view(name).find("Profile Tool Fence") == std::string_view::npos) ++events.fences;
    });
    tools::set_begin_deep_copy_callback([](Kokkos_Profiling_SpaceHandle, const char*, const void*,
                                           Kokkos_Profiling_SpaceHandle, const char*, const void*,
                                           std::uint64_t) { ++events.copies; });
    tools::set_begin_parallel_for_callback(
        [](const char*, std::uint32_t, std::uint64_t*) { ++events.kernels; });
    tools::set_begin_parallel_reduce_callback(
        [](const char*, std::uint32_t, std::uint64_t*) { ++events.kernels; });
  }
  ~EventCounter() {
    tools::set_allocate_data_callback(nullptr);
    tools::set_begin_fence_callback(nullptr);
    tools::set_begin_deep_copy_callback(nullptr);
    tools::set_begin_parallel_for_callback(nullptr);
    tools::set_begin_parallel_reduce_callback(nullptr);
  }
  EventCounter(const EventCounter&) = delete;
  EventCounter& operator=(const EventCounter&) = delete;
};

/// Options that use every kind of kernel: norms, dropout, clipping, micro-batches.
Options busy_options(DType compute, GemmChoice gemm) {
  Options options = small_options(compute);
  options.model.norm = NormType::layernorm;
  options.model.activation = Activation::gelu;
  options.model.dropout = 0.1;
  options.optimizer.clip_norm = 1;
  options.data.micro_batch = 4;
  options.kernels.gemm = gemm;
  return options;
}

struct Case {
  DType compute;
  GemmChoice gemm;
};
class SteadyState : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    TypesAndEngines, SteadyState,
    testing::Values(Case{DType::fp32, GemmChoice::tiles}, Case{DType::bf16, GemmChoice::tiles},
                    Case{DType::fp16, GemmChoice::tiles}, Case{DType::fp32, GemmChoice::automatic},
                    Case{DType::bf16, GemmChoice::automatic}, Case{DType::fp32, GemmChoice::measure},
                    Case{DType::bf16, GemmChoice::measure}));

/// A batch that is there beforehand: no test's own source is what is measured.
struct OneBatch final : BatchSource {
  explicit OneBatch(const MicroBatch& only) : batch(only) {}
  MicroBatch next(const Execution&) override { return batch; }
  MicroBatch batch;
};

void expect_steady(Trainer& trainer, BatchSource& batches, GemmChoice gemm) {
  trainer.step(batches, false);
  trainer.step(batches, false);

  const long before = allocations();
  for (int i = 0; i < 5; ++i) trainer.step(batches, false);
  const long allocated = allocations() - before;

  const EventCounter counter;  // itself makes Kokkos allocate names: from here on only its events count
  for (int i = 0; i < 5; ++i) trainer.step(batches, false);
  EXPECT_EQ(events.allocations, 0) << "of Kokkos";
  EXPECT_EQ(events.fences, 0);
  EXPECT_EQ(events.copies, 0);
  EXPECT_GT(events.kernels, 0) << "the counter sees kernels";
  // oneDNN 2.6 builds its argument table on the heap at every call: not ours, and not counted.
  if (gemm == GemmChoice::tiles) {
    EXPECT_EQ(allocated, 0) << "calls of operator new";
  }
}

TEST_P(SteadyState, AStepNeitherAllocatesNorWaitsNorCopiesToTheHost) {
  if (GetParam().gemm == GemmChoice::tiles && !has_tiles()) GTEST_SKIP() << "no tiles in this build";
  SmallRun run(busy_options(GetParam().compute, GetParam().gemm));
  OneBatch batch(run.batches->next(run.trainer->execution()));
  expect_steady(*run.trainer, batch, GetParam().gemm);
}

TEST_P(SteadyState, NorDoesThatOfATransformer) {
  if (GetParam().gemm == GemmChoice::tiles && !has_tiles()) GTEST_SKIP() << "no tiles in this build";
  for (const NormType norm : {NormType::layernorm, NormType::rmsnorm}) {
    Options options = busy_options(GetParam().compute, GetParam().gemm);
    options.data.batch = 2 * options.data.micro_batch;  // the first accumulates nothing, the last reduces
    options.model = {};
    options.model.type = ModelType::gpt;
    options.model.layers = 2;
    options.model.heads = 2;
    options.model.width = 128;
    options.model.context = 48;
    options.model.vocabulary = 96;
    options.model.norm = norm;
    if (norm == NormType::rmsnorm) {  // and what goes with it in newer networks
      options.model.feed_forward = FeedForwardType::swiglu;
      options.model.positions = PositionType::rotary;
      options.model.bias = false;
    } else {
      options.model.dropout = 0.1;
    }
    const auto communicator = make_communicator(MPI_COMM_WORLD, options.communication);
    const auto gemm = make_gemm_engine(options.kernels);
    const StepPlan plan = make_step_plan(options.data.batch, options.data.micro_batch, 0, 1);
    Trainer trainer(options, make_chain(options.model, options.precision, 1, plan.accumulates), *gemm,
                    *communicator, plan, options.run.steps);
    const std::int64_t rows = plan.micro_batch * options.model.context;
    const Kokkos::View<std::int32_t*, Device> tokens("tokens", static_cast<std::size_t>(rows));
    OneBatch batch({Tensor(tokens.data(), DType::int32, rows, 1), {.labels = tokens.data()}});
    expect_steady(trainer, batch, GetParam().gemm);
  }
}

TEST(ScalerCost, ScalerOnAndOffRunTheSameKernels) {
  long kernels[2];
  for (const bool on : {false, true}) {
    Options options = busy_options(DType::fp16, GemmChoice::automatic);
    options.precision.scaler.mode = on ? ScalerMode::dynamic : ScalerMode::off;
    SmallRun run(options);
    run.step();
    const EventCounter counter;
    for (int i = 0; i < 4; ++i) run.step();
    kernels[on ? 1 : 0] = events.kernels;
  }
  EXPECT_GT(kernels[0], 0);
  EXPECT_EQ(kernels[1], kernels[0]);
}

}  // namespace mylos::steady_state_test
