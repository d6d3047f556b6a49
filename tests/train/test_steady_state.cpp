// What a step may not do once it runs, on batches as a run has them: allocate, wait, copy to the host, read
// files.
#include <gtest/gtest.h>

#include "support/allocation_counter.hpp"
#include "support/kokkos_events.hpp"
#include "train/engines.hpp"
#include "train/run_on_file.hpp"
#include "train/synthetic.hpp"

namespace mylos::steady_state_test {

using namespace testing_support;  // NOLINT

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

/// MPI reads and writes on its own between ranks.
void expect_no_files_read(RunOnFile& run) {
  const std::optional<long> before_asking = system_calls("thread-self");
  if (!before_asking || run.communicator->size() > 1) return;
  const long before = *system_calls("thread-self");
  run.steps(5);
  EXPECT_EQ(*system_calls("thread-self") - before, before - *before_asking) << "calls of read and write";
}

void expect_steady(RunOnFile& run) {
  run.steps(2);
  const long before = allocations();
  run.steps(5);
  const long allocated = allocations() - before;

  expect_no_files_read(run);
  const EventCounter counter;  // itself makes Kokkos allocate names: from here on only its events count
  run.steps(5);
  EXPECT_EQ(events.allocations, 0) << "of Kokkos";
  EXPECT_EQ(events.fences, 0);
  EXPECT_EQ(events.copies_to_host, 0);
  EXPECT_GT(events.kernels, 0) << "the counter sees kernels";
  // oneDNN 2.6 builds its argument table on the heap at every call: not ours, and not counted.
  if (run.options.kernels.gemm == GemmChoice::tiles) {
    EXPECT_EQ(allocated, 0) << "calls of operator new";
  }
}

TEST_P(SteadyState, AStepNeitherAllocatesNorWaitsNorCopiesToTheHost) {
  if (GetParam().gemm == GemmChoice::tiles && !has_tiles()) GTEST_SKIP() << "no tiles in this build";
  for (const MasterWeights masters : masters_with(GetParam().compute)) {
    Options options = busy_options(GetParam().compute, GetParam().gemm);
    options.precision.masters = masters;
    RunOnFile run(options);
    expect_steady(run);
  }
}

TEST_P(SteadyState, NorDoesThatOfSpectralLayers) {
  if (GetParam().gemm == GemmChoice::tiles && !has_tiles()) GTEST_SKIP() << "no tiles in this build";
  Options options = busy_options(GetParam().compute, GetParam().gemm);
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.shape = {2, 2, 3};
  options.model.inputs = features;
  options.model.outputs = classes;
  options.model.chain = {{.kind = kinds::Spectral{.modes = {2}}, .outputs = 5},
                         {.kind = kinds::Spectral{.modes = {1, 2}}, .outputs = 3},
                         {.kind = kinds::Dense{}}};
  RunOnFile run(options);
  expect_steady(run);
}

TEST(FirstStep, AllocatesNothingForTheLoss) {
  Options options = small_options(DType::fp32);
  options.kernels.gemm = has_tiles() ? GemmChoice::tiles : GemmChoice::automatic;
  const auto of_first_step = [&] {
    RunOnFile run(options);
    const EventCounter counter;
    run.steps(1);
    return std::pair(events.allocations, events.fences);
  };
  const auto without = of_first_step();
  options.model.loss = losses::CrossEntropy{
      .class_weights = std::vector<double>(static_cast<std::size_t>(options.model.outputs), 0.5)};
  EXPECT_EQ(of_first_step(), without);
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
    options.model.vocabulary = vocabulary;
    options.model.norm = norm;
    if (norm == NormType::rmsnorm) {  // and what goes with it in newer networks
      options.model.feed_forward = FeedForwardType::swiglu;
      options.model.positions = PositionType::rotary;
      options.model.bias = false;
    } else {
      options.model.dropout = 0.1;
    }
    RunOnFile run(options);
    expect_steady(run);
  }
}

TEST_P(SteadyState, NorDoesThatOfRanksThatHoldSlices) {
  if (GetParam().gemm == GemmChoice::tiles && !has_tiles()) GTEST_SKIP() << "no tiles in this build";
  for (const Shard shard : {Shard::state, Shard::gradients}) {
    Options options = busy_options(GetParam().compute, GetParam().gemm);
    options.model.hidden.assign(6, 24);
    options.data.micro_batch = 0;
    options.optimizer.shard = shard;
    options.communication.bucket_bytes = 64;
    RunOnFile run(options);
    EXPECT_EQ(run.trainer->model().parameters().layout().cuts_gradients(),
              shard == Shard::gradients && run.communicator->size() > 1);
    expect_steady(run);
  }
}

TEST(SteadyReading, TheFileIsReadBesideTheSteps) {
  Options options = busy_options(DType::fp32, GemmChoice::automatic);
  options.data.shuffle = Shuffle::blocks;
  options.data.batch = images / 2;  // two steps take all of the file
  options.data.micro_batch = images / 8;
  RunOnFile run(options);
  run.steps(2);
  const auto by_others = [] { return *system_calls("self") - *system_calls("thread-self"); };
  if (run.communicator->size() > 1) GTEST_SKIP() << "MPI reads too";
  if (!system_calls("self")) GTEST_SKIP() << "the system does not count reads";
  const long before = by_others();
  expect_no_files_read(run);
  EXPECT_GT(by_others(), before) << "the reader's";
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
