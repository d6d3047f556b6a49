// What the loss scaler is for, and what happens when it cannot help.
#include <gtest/gtest.h>

#include <cmath>

#include "mylos/train/health/fault_replay.hpp"
#include "support/cases.hpp"
#include "support/device_views.hpp"
#include "train/faulty_block.hpp"
#include "train/synthetic.hpp"

namespace mylos::divergence_test {

using namespace testing_support;  // NOLINT

/// Targets near 2^-11, the same batch at every step: while anything is left to learn the gradient of a
/// prediction is 2 · residual / outputs / batch, less than 2^-25, which half rounds to zero.
class SmallTargets final : public BatchSource {
 public:
  SmallTargets(std::int64_t samples, DType type)
      : inputs_("inputs", static_cast<std::size_t>(samples * features) * sizeof(float)) {
    const RandomStream stream(3, RandomPurpose::sampling, "small targets");
    std::vector<float> values(static_cast<std::size_t>(samples * features));
    std::vector<float> targets;
    for (std::int64_t row = 0; row < samples; ++row) {
      float* x = values.data() + row * features;
      for (std::int64_t i = 0; i < features; ++i) {
        x[i] =
            2 * uniform_from(stream.word(0, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(i))) -
            1;
      }
      for (std::int64_t c = 0; c < classes; ++c) {
        double sum = 0;
        for (std::int64_t i = 0; i < features; ++i)
          sum += std::sin(1.0 + 3.0 * static_cast<double>(c * features + i)) * x[i];
        targets.push_back(static_cast<float>(0x1p-12 * sum));
        variance_ += 0x1p-24 * sum * sum / static_cast<double>(samples * classes);
      }
    }
    const Tensor inputs = inputs_.tensor(0, type, samples, features);
    test::set_values(inputs, values);
    batch_.inputs = inputs;
    targets_ = test::on_device(targets);
    batch_.truth.targets = targets_.data();
  }
  MicroBatch next(const Execution&) override { return batch_; }
  [[nodiscard]] double variance() const { return variance_; }

 private:
  Arena inputs_;
  Kokkos::View<float*, Device> targets_;
  double variance_ = 0;
  MicroBatch batch_;
};

/// What is left of the targets' variance after training.
double unexplained(DType compute, ScalerMode mode) {
  Options options = small_options(compute);
  options.precision.scaler.mode = mode;
  options.precision.scaler.initial_scale = 16777216;
  options.model.hidden = {};
  options.model.loss = losses::Mse{};
  options.optimizer.lr = 0.03;
  options.optimizer.epsilon = 1e-14;
  options.optimizer.weight_decay = 0;
  options.run.steps = 400;
  options.schedule.type = ScheduleType::cosine;
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  options.data.batch = 16384 * size;
  SmallRun run(options);
  SmallTargets batches(16384, compute);
  for (int i = 0; i < 400; ++i) run.trainer->step(batches, false);
  run.trainer->quiesce();
  return run.trainer->read_state().record.loss / batches.variance();
}

TEST(LossScale, GradientsThatUnderflowInHalfAreSavedByTheScaler) {
  if (test::few_cases) GTEST_SKIP() << "long, and about numbers: the optimised build checks them";
  const double in_float = unexplained(DType::fp32, ScalerMode::off);
  const double scaled = unexplained(DType::fp16, ScalerMode::dynamic);
  const double unscaled = unexplained(DType::fp16, ScalerMode::off);
  EXPECT_LT(in_float, 0.01) << "the problem can be learnt";
  EXPECT_LT(scaled, 0.01) << "half with the scaler matches float";
  EXPECT_GT(unscaled, 0.2) << "half without it cannot learn";
}

struct InjectedFault {
  std::size_t block;
  const char* tensor;  // what is poisoned
  const char* layer;   // what the replay must name
  const char* named;
};

class FaultReplay : public testing::TestWithParam<InjectedFault> {};

TEST_P(FaultReplay, NamesStepRankLayerAndTensor) {
  const InjectedFault& fault = GetParam();
  int size = 1;
  int own = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  for (int guilty = 0; guilty < size; ++guilty) {
    Options options = small_options(DType::fp16);
    options.precision.scaler.initial_scale = 4;
    options.precision.scaler.max_consecutive_skips = 3;
    options.data.micro_batch = 5;
    SmallRun run(options, [&](Chain& chain) {
      if (own == guilty) make_faulty(chain, fault.block, {fault.tensor, 2});
    });
    StepState state;
    for (int i = 0; i < 2; ++i) state = run.step();
    const std::vector<float> before = run.masters();
    int steps = 2;
    while (state.halted == 0 && steps < 20) {
      state = run.step();
      ++steps;
    }
    EXPECT_EQ(steps, 2 + 2 + 3) << "two backoffs to the floor, then the deck's three";
    EXPECT_TRUE(run.trainer->exhausted(state));
    EXPECT_EQ(run.masters(), before) << "weights as before the first skip";
    run.step();
    EXPECT_EQ(run.trainer->read_state().step, state.step) << "a halted trainer does nothing";

    run.batches->seek(state.step - 1);
    const auto found = find_fault(run.trainer->quiesce(), *run.trainer, *run.batches);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->rank, guilty);
    EXPECT_EQ(found->layer, fault.layer);
    EXPECT_EQ(found->tensor, fault.named);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultReplay,
                         testing::Values(InjectedFault{0, "output", "hidden1", "output"},
                                         InjectedFault{1, "output", "hidden2", "output"},
                                         InjectedFault{2, "output", "head", "output"},
                                         InjectedFault{0, "weight gradient", "hidden1", "weight gradient"},
                                         InjectedFault{1, "weight gradient", "hidden2", "weight gradient"},
                                         InjectedFault{2, "weight gradient", "head", "weight gradient"},
                                         InjectedFault{0, "bias gradient", "hidden1", "bias gradient"},
                                         InjectedFault{1, "bias gradient", "hidden2", "bias gradient"},
                                         InjectedFault{2, "bias gradient", "head", "bias gradient"},
                                         InjectedFault{1, "input gradient", "hidden1", "output gradient"},
                                         InjectedFault{2, "input gradient", "hidden2", "output gradient"}));

TEST(FaultReplay, SeesGradientsThatShareTheirMemoryWithLaterOnes) {
  int guilty = 0;  // the last rank
  int own = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &guilty);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  --guilty;
  for (const std::size_t block : {0u, 3u, 6u}) {
    Options options = small_options(DType::fp16);
    options.model.hidden = {24, 16, 24, 16, 24, 16};
    options.communication.bucket_bytes = 64;
    options.optimizer.shard = Shard::gradients;
    options.precision.scaler.initial_scale = 4;
    options.precision.scaler.max_consecutive_skips = 3;
    SmallRun run(options, [&](Chain& chain) {
      if (own == guilty) make_faulty(chain, block, {"weight gradient", 2});
    });
    StepState state;
    while (state.halted == 0 && state.step < 20) state = run.step();
    EXPECT_TRUE(run.trainer->exhausted(state));
    run.batches->seek(state.step - 1);
    const auto found = find_fault(run.trainer->quiesce(), *run.trainer, *run.batches);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->rank, guilty);
    EXPECT_EQ(found->layer, block == 6 ? "head" : "hidden" + std::to_string(block + 1));
    EXPECT_EQ(found->tensor, "weight gradient");
  }
}

/// Row and column of the first element of hidden1's output that dropout keeps at `step`, of `columns`
/// columns.
std::pair<std::int64_t, std::int64_t> first_kept(const Options& options, std::uint64_t step,
                                                 std::int64_t columns) {
  const RandomStream stream(options.run.seed, RandomPurpose::dropout, "hidden1");
  std::int64_t element = 0;
  const auto word = [&] {
    return stream.word(step, static_cast<std::uint64_t>(element / columns),
                       static_cast<std::uint64_t>(element % columns));
  };
  while (word() >= (1 - options.model.dropout) * 4294967295.0) ++element;
  return {element / columns, element % columns};
}

// Every unit's activation fits half, and no longer does where dropout keeps it: which that is, the random
// numbers of the step decide.
TEST(FaultReplay, DropsWhatTheStepDropped) {
  Options options = small_options(DType::fp16);
  options.model.dropout = 0.9;
  options.precision.scaler.initial_scale = 4;
  options.precision.scaler.max_consecutive_skips = 3;
  SmallRun run(options);
  const ParameterStore& parameters = run.trainer->model().parameters();
  for (const ParameterSlot& slot : parameters.layout().slots) {
    if (slot.path() != "hidden1/bias") continue;
    test::set_values(parameters.compute_weight(slot), std::vector<float>(24, 2e4f));
  }
  StepState state = run.step();
  while (state.halted == 0 && state.step < 20) state = run.step();
  ASSERT_NE(state.halted, 0);
  const auto expected = first_kept(options, state.step - 1, 24);
  ASSERT_NE(expected, first_kept(options, state.step, 24))
      << "the steps must differ for this test to see any";

  run.batches->seek(state.step - 1);
  const auto found = find_fault(run.trainer->quiesce(), *run.trainer, *run.batches);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 0);
  EXPECT_EQ(found->layer, "hidden1");
  EXPECT_EQ(found->tensor, "output");
  EXPECT_EQ(std::pair(found->row, found->column), expected);
}

TEST(FaultReplay, AnInfiniteWeightIsNamedBeforeWhatItSpoils) {
  Options options = small_options(DType::bf16);
  options.precision.scaler.max_consecutive_skips = 2;
  SmallRun run(options);
  const ParameterStore& parameters = run.trainer->model().parameters();
  for (const ParameterSlot& slot : parameters.layout().slots) {
    if (slot.path() == "hidden2/weight") poison(parameters.compute_weight(slot), 5);
  }
  StepState state = run.step();
  EXPECT_EQ(state.halted, 0);
  state = run.step();
  EXPECT_NE(state.halted, 0) << "bfloat16 without a scaler: non-finite steps are still seen and counted";
  run.batches->seek(state.step - 1);
  const auto found = find_fault(run.trainer->quiesce(), *run.trainer, *run.batches);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->layer, "hidden2");
  EXPECT_EQ(found->tensor, "weight");
  EXPECT_EQ(found->column, 5);
}

}  // namespace mylos::divergence_test
