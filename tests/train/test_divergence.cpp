// What the loss scaler is for, and what happens when it cannot help.
#include <gtest/gtest.h>

#include "mylos/train/fault_replay.hpp"
#include "train/faulty_block.hpp"
#include "train/synthetic.hpp"

namespace mylos {
namespace {

using namespace testing_support;  // NOLINT

/// Inputs so small that the gradients of the first layer underflow in half: u² · 2^-14 and the like.
class FaintBatches final : public BatchSource {
 public:
  explicit FaintBatches(BatchSource& inner, DType type) : inner_(inner), type_(type) {}
  MicroBatch next(const Execution& exec) override {
    MicroBatch batch = inner_.next(exec);
    dispatch(type_, [&]<class T>(TypeTag<T>) {
      T* values = batch.inputs.as<T>();
      for (std::int64_t i = 0; i < batch.inputs.size(); ++i) values[i] = from_float<T>(to_float(values[i]) * 0x1p-12f);
    });
    return batch;
  }

 private:
  BatchSource& inner_;
  DType type_;
};

double loss_on_faint_data(DType compute, ScalerMode mode) {
  Options options = small_options(compute);
  options.precision.scaler.mode = mode;
  options.model.hidden = {};
  // A linear classifier by plain gradient descent: a step moves weights by lr · gradient, with gradients near 2^-16
  // per sample and a batch that divides them further.
  options.optimizer.type = OptimizerType::sgd;
  options.optimizer.momentum = 0;
  options.optimizer.weight_decay = 0;
  options.optimizer.lr = 3e6;
  options.data.batch = 256;
  SmallRun run(options);
  FaintBatches faint(*run.batches, compute);
  double loss = 0;
  for (int i = 0; i < 60; ++i) {
    run.trainer->step(faint, false);
    loss = run.trainer->read_state().record.loss;
  }
  return loss;
}

TEST(LossScale, GradientsThatUnderflowInHalfAreSavedByTheScaler) {
  const double reference = loss_on_faint_data(DType::fp32, ScalerMode::off);
  EXPECT_LT(reference, 0.7) << "the problem can be learnt";
  EXPECT_NEAR(loss_on_faint_data(DType::fp16, ScalerMode::dynamic), reference, 0.02);
  EXPECT_GT(loss_on_faint_data(DType::fp16, ScalerMode::off), reference + 0.1) << "without it, half cannot";
}

struct InjectedFault {
  std::size_t block;
  const char* tensor;   // what is poisoned
  const char* layer;    // what the replay must name
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
    const auto found = find_fault(*run.trainer, *run.batches);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->rank, guilty);
    EXPECT_EQ(found->layer, fault.layer);
    EXPECT_EQ(found->tensor, fault.named);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultReplay,
    testing::Values(InjectedFault{0, "output", "hidden1", "output"}, InjectedFault{1, "output", "hidden2", "output"},
                    InjectedFault{2, "output", "head", "output"},
                    InjectedFault{0, "weight gradient", "hidden1", "weight gradient"},
                    InjectedFault{1, "weight gradient", "hidden2", "weight gradient"},
                    InjectedFault{2, "weight gradient", "head", "weight gradient"},
                    InjectedFault{0, "bias gradient", "hidden1", "bias gradient"},
                    InjectedFault{1, "bias gradient", "hidden2", "bias gradient"},
                    InjectedFault{2, "bias gradient", "head", "bias gradient"},
                    InjectedFault{1, "input gradient", "hidden1", "output gradient"},
                    InjectedFault{2, "input gradient", "hidden2", "output gradient"}));

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
  const auto found = find_fault(*run.trainer, *run.batches);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->layer, "hidden2");
  EXPECT_EQ(found->tensor, "weight");
  EXPECT_EQ(found->column, 5);
}

}  // namespace
}  // namespace mylos
