// The step on any number of ranks: who skips, what moves, what is the same everywhere.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <type_traits>

#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/model/network/mlp.hpp"
#include "support/refusal.hpp"
#include "train/faulty_block.hpp"
#include "train/synthetic.hpp"

namespace mylos::step_test {

using namespace testing_support;  // NOLINT

static_assert(!std::is_default_constructible_v<Quiesced> && !std::is_copy_constructible_v<Quiesced>,
              "only Trainer::quiesce() proves that no exchange of a step is in flight");

/// True on every rank if all ranks hold the same bytes.
bool same_on_all_ranks(RankGroup& ranks, const std::vector<float>& values) {
  std::vector<float> first = values;
  ranks.broadcast(first.data(), first.size() * sizeof(float), 0);
  const std::int32_t own =
      std::memcmp(first.data(), values.data(), values.size() * sizeof(float)) == 0 ? 1 : 0;
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(own));
  return std::all_of(all.begin(), all.end(), [](std::int32_t same) { return same == 1; });
}

class StepTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, StepTypes, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(StepTypes, LearnsAndKeepsReplicasEqual) {
  for (const MasterWeights masters : masters_with(GetParam())) {
    Options options = small_options(GetParam());
    options.precision.masters = masters;
    SmallRun run(options);
    const double first_loss = run.step().record.loss;
    double last_loss = 0;
    for (int i = 0; i < 99; ++i) last_loss = run.step().record.loss;
    EXPECT_NEAR(first_loss, std::log(4.0), 0.3);
    EXPECT_LT(last_loss, 0.6 * first_loss);
    EXPECT_TRUE(same_on_all_ranks(run.communicator->ranks(), run.masters()));
  }
}

/// One of them overflows in its fourth step.
void expect_all_ranks_to_skip(Options options) {
  options.precision.scaler.mode = ScalerMode::dynamic;
  options.precision.scaler.initial_scale = 1024;
  SmallRun run(options, [](Chain& chain) {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) make_faulty(chain, 1, {"weight gradient", 3, 3});
  });
  StepState before;
  for (int i = 0; i < 3; ++i) before = run.step();
  const std::vector<float> masters = run.masters();
  const StepState after = run.step();

  EXPECT_NE(after.record.overflow, 0) << "every rank knows";
  EXPECT_EQ(after.record.event, ScaleEvent::decreased);
  EXPECT_EQ(after.scaler.scale, 512);
  EXPECT_EQ(run.masters(), masters) << "not a bit moves";
  EXPECT_EQ(after.updates, before.updates) << "learning rate and Adam's step go by updates";
  EXPECT_EQ(after.step, before.step + 1) << "the data position goes by steps";

  const StepState next = run.step();
  EXPECT_EQ(next.record.overflow, 0);
  EXPECT_EQ(next.updates, before.updates + 1);
  EXPECT_FLOAT_EQ(next.control.bias_correction1, 1.0f - std::pow(0.9f, 4.0f))
      << "its fourth update, not fifth";
  EXPECT_TRUE(same_on_all_ranks(run.communicator->ranks(), run.masters()));
}

TEST_P(StepTypes, OneRankOverflowsAllRanksSkip) {
  for (const MasterWeights masters : masters_with(GetParam())) {
    Options options = small_options(GetParam());
    options.precision.masters = masters;
    expect_all_ranks_to_skip(options);
  }
}

TEST_P(StepTypes, MicroBatchesGiveTheSameMeanGradient) {
  Options options = small_options(GetParam());
  options.precision.scaler.mode = ScalerMode::off;
  SmallRun whole(options);
  options.data.micro_batch = 3;  // does not divide the share: ragged ends
  SmallRun split(options);
  const StepState a = whole.step();
  const StepState b = split.step();
  // Every micro-batch's sum is rounded to the gradients' type and added to those before; in float the batch's
  // 32 samples are terms of one sum or of several.
  const auto micro_batches = static_cast<double>(split.plan.micro_batches);
  const double tolerance = (micro_batches + 1) * test::unit_roundoff_of(GetParam()) + 2 * 32 * test::u;
  EXPECT_NEAR(b.record.loss, a.record.loss, tolerance * a.record.loss);
  EXPECT_NEAR(b.record.gradient_norm, a.record.gradient_norm, tolerance * a.record.gradient_norm);
}

/// Forty layers.
Options deep_options(DType compute, std::int64_t bucket_bytes) {
  Options options = small_options(compute);
  options.model.hidden.assign(40, 8);
  options.communication.bucket_bytes = bucket_bytes;
  return options;
}

TEST_P(StepTypes, BucketsOfAnySizeGiveTheSameWeights) {
  // Every element is summed by the tree over ranks on whichever rank its slice is. The norm is not: its parts
  // are slices.
  SmallRun small(deep_options(GetParam(), 64));
  SmallRun large(deep_options(GetParam(), std::int64_t{25} << 20));
  const auto buckets = [](const SmallRun& run) {
    return run.trainer->model().parameters().layout().buckets.size();
  };
  ASSERT_EQ(buckets(small), 41u);
  ASSERT_EQ(buckets(large), 1u);
  const std::vector<float> before = small.masters();
  for (int i = 0; i < 5; ++i) {
    const double norm = small.step().record.gradient_norm;
    EXPECT_NEAR(large.step().record.gradient_norm, norm, 1e-12 * norm);
  }
  EXPECT_EQ(small.masters(), large.masters());
  EXPECT_NE(small.masters(), before);
}

TEST(Step, ARankThatDoesNotComeEndsTheOthersWithTheReductionThatWaited) {
  Options options = deep_options(DType::fp32, 64);
  options.communication.timeout_s = 0.5;
  SmallRun run(options);
  if (run.communicator->size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  if (run.communicator->runs_on_device()) GTEST_SKIP() << "NCCL waits on the device";
  const bool late = run.communicator->rank() == 0;
  if (late) std::this_thread::sleep_for(std::chrono::duration<double>(1.2));
  try {
    run.trainer->step(*run.batches, false);
    EXPECT_TRUE(late);
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), errors::communication_failed);
    EXPECT_THAT(error.what(), testing::HasSubstr("reduce-scatter"));
    EXPECT_THAT(error.what(), testing::HasSubstr("communication.timeout = 0.5"));
  }
}

TEST(Step, MicroBatchesDropTheSame) {
  Options options = small_options(DType::fp32);
  options.model.dropout = 0.5;
  SmallRun whole(options);
  const StepState expected = whole.step();
  for (const std::int64_t micro_batch : {1, 3, 4}) {
    options.data.micro_batch = micro_batch;
    SmallRun split(options);
    const StepState state = split.step();
    const double tolerance = 2 * 32 * test::u;  // two sums over at most 32 samples
    EXPECT_NEAR(state.record.loss, expected.record.loss, tolerance * expected.record.loss) << micro_batch;
    EXPECT_NEAR(state.record.gradient_norm, expected.record.gradient_norm,
                tolerance * expected.record.gradient_norm)
        << micro_batch;
  }
}

TEST(Step, RankCountDoesNotChangeTheMathematics) {
  Options options = small_options(DType::fp32);
  options.model.dropout = 0.5;
  SmallRun run(options);
  double loss = 0;
  for (int i = 0; i < 20; ++i) loss = run.step().record.loss;
  // One rank alone, on the same samples: this process with a communicator of its own.
  const auto alone = make_communicator(MPI_COMM_SELF, options.communication);
  const NetworkPlan network = plan_network(options, 0, 1);
  Trainer trainer(network, *run.engines, *alone, 100);
  SyntheticBatches batches(network.step, 0, 1, DType::fp32);
  for (int i = 0; i < 20; ++i) trainer.step(batches, false);
  // Twenty updates by gradients that are sums over at most 32 samples.
  EXPECT_NEAR(trainer.read_state().record.loss, loss, 20 * 32 * test::u * loss);
}

TEST(Step, AStopRequestReachesAllRanks) {
  SmallRun run(small_options(DType::bf16));
  const int last = run.communicator->size() - 1;
  run.trainer->step(*run.batches, run.communicator->rank() == last);
  run.trainer->quiesce();
  EXPECT_EQ(run.trainer->read_state().record.stop, last + 1);
}

/// A signal arrives while the step reads its batch.
class SignallingBatches final : public BatchSource {
 public:
  explicit SignallingBatches(BatchSource& inner) : inner_(inner) {}
  MicroBatch next(const Execution& exec) override {
    has_arrived_ = true;
    return inner_.next(exec);
  }
  [[nodiscard]] bool has_arrived() const { return has_arrived_; }

 private:
  BatchSource& inner_;
  bool has_arrived_ = false;
};

TEST(Step, AStopRequestOfItsOwnTimeIsAgreedOnAtItsEnd) {
  SmallRun run(small_options(DType::bf16));
  SignallingBatches batches(*run.batches);
  run.trainer->step(batches, [&] { return batches.has_arrived(); });
  run.trainer->quiesce();
  EXPECT_EQ(run.trainer->read_state().record.stop, run.communicator->size());  // the last rank that asked
}

/// Fails at one step, as a reader does at a damaged sample.
class FailingBatches final : public BatchSource {
 public:
  FailingBatches(BatchSource& inner, int fails_at) : inner_(inner), left_(fails_at) {}
  MicroBatch next(const Execution& exec) override {
    if (left_-- == 0) fail_input(errors::not_finite, "train.h5: row 17, column 3 is NaN");
    return inner_.next(exec);
  }

 private:
  BatchSource& inner_;
  int left_;
};

TEST(Step, AnErrorOfOneRankReachesAllAndNothingMoves) {
  SmallRun run(small_options(DType::bf16));
  const int last = run.communicator->size() - 1;
  SmallRun undisturbed(small_options(DType::bf16));
  for (int i = 0; i < 2; ++i) undisturbed.step();
  FailingBatches batches(*run.batches, run.communicator->rank() == last ? 2 : 1000);
  for (int i = 0; i < 3; ++i) run.trainer->step(batches, false);  // the third starts with gathers in flight
  run.trainer->quiesce();
  EXPECT_NE(run.trainer->read_state().halted, 0);
  EXPECT_EQ(run.masters(), undisturbed.masters());
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_finite, {"train.h5: row 17, column 3"},
                            [&] { run.trainer->throw_if_failed(run.trainer->quiesce()); }))
      << "on rank " << run.communicator->rank();
}

TEST(Step, RanksWhoseLossScalesDifferHaltAndSayWhich) {
  SmallRun run(small_options(DType::fp16));
  if (run.communicator->size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::vector<float> before = run.masters();
  StepState state = run.trainer->read_state();
  if (run.communicator->rank() == run.communicator->size() - 1) state.scaler.scale = 2 * state.scaler.scale;
  run.trainer->write_state(state);
  run.trainer->step(*run.batches, false);
  run.trainer->quiesce();
  EXPECT_NE(run.trainer->read_state().halted, 0);
  EXPECT_EQ(run.masters(), before);
  EXPECT_TRUE(test::refuses(
      errors::internal, {"65536 on rank 0", fmt::format("131072 on rank {}", run.communicator->size() - 1)},
      [&] { run.trainer->throw_if_failed(run.trainer->quiesce()); }))
      << "on rank " << run.communicator->rank();
}

TEST(Step, ATrainerMayGoWhileGathersAreInFlight) {
  {
    SmallRun run(deep_options(DType::bf16, 64));
    run.trainer->step(*run.batches, false);
  }
  SmallRun next(small_options(DType::bf16));
  EXPECT_EQ(next.step().updates, 1u);
}

}  // namespace mylos::step_test
