// Steps whose collectives all ranks may capture: the reductions end with the passes, and the update starts
// with the next step. The device of these tests refuses to capture, on one rank or on all, so the steps are
// those that precede a capture.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "mylos/base/errors/data.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "support/refusal.hpp"
#include "train/synthetic.hpp"

namespace mylos::captured_ranks_test {

using namespace testing_support;  // NOLINT

/// Counts the captures that begin, and refuses them.
class RefusingCapture final : public GraphCapture {
 public:
  explicit RefusingCapture(int& begun) : begun_(begun) {}
  std::string begin(const Execution&) override {
    ++begun_;
    return "no graphs here";
  }
  std::unique_ptr<CapturedWork> end(const Execution&, std::string&) override { return nullptr; }

 private:
  int& begun_;
};

/// Passes everything to another communicator, whose collectives count as capturable.
class CapturableRanks final : public Communicator {
 public:
  explicit CapturableRanks(const CommunicationOptions& options)
      : Communicator(MPI_COMM_WORLD, options.timeout_s), inner_(make_communicator(MPI_COMM_WORLD, options)) {}

  [[nodiscard]] bool runs_on_device() const override { return inner_->runs_on_device(); }
  void reserve(std::span<const SlotBytes> slots) override { inner_->reserve(slots); }
  [[nodiscard]] std::size_t staging_bytes() const override { return inner_->staging_bytes(); }
  Request start_allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction,
                          std::size_t slot) override {
    return inner_->start_allreduce(execution, buffer, reduction, slot);
  }
  using Communicator::start_reduce_scatter;
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                               CommunicationBuffer sum, float factor, std::size_t slot) override {
    return inner_->start_reduce_scatter(execution, buffer, sum, factor, slot);
  }
  Request start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                           std::size_t slot) override {
    return inner_->start_all_gather(execution, buffer, slot);
  }
  Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                          std::size_t slot) override {
    return inner_->start_broadcast(execution, buffer, root, slot);
  }
  Request start_exchange(const Execution& execution, std::span<const RankMessage> messages,
                         std::size_t slot) override {
    return inner_->start_exchange(execution, messages, slot);
  }
  void wait(const Execution& execution, Request& request) override { inner_->wait(execution, request); }
  void abandon() override { inner_->abandon(); }
  void agree(const Execution& execution, AgreementBuffer& buffer) override {
    inner_->agree(execution, buffer);
  }
  void synchronize(const Execution& execution) override { inner_->synchronize(execution); }
  [[nodiscard]] std::unique_ptr<GraphCapture> make_capture() const override {
    return std::make_unique<RefusingCapture>(begun_);
  }

  [[nodiscard]] int captures_begun() const { return begun_; }

 private:
  std::unique_ptr<Communicator> inner_;
  mutable int begun_ = 0;
};

/// Batches of the plan, in two buffers in rotation. Fails at one call.
class PlannedBatches final : public BatchSource {
 public:
  PlannedBatches(BatchSource& inner, int fails_at) : inner_(inner), left_(fails_at) {}
  MicroBatch next(const Execution& exec) override {
    if (left_-- == 0) fail_input(errors::not_finite, "train.h5: row 17, column 3 is NaN");
    return inner_.next(exec);
  }
  [[nodiscard]] std::int64_t buffers() const override { return 2; }

 private:
  BatchSource& inner_;
  int left_;
};

/// All weights that passes read, after the last update.
std::vector<float> weights_of(Trainer& trainer) {
  trainer.quiesce();
  std::vector<float> values;
  const ParameterStore& parameters = trainer.model().parameters();
  for (std::size_t block = 0; block < parameters.layout().slots_of_block.size(); ++block) {
    for (const Tensor weight : parameters.weights(block)) {
      const std::vector<float> own = test::values_of(weight);
      values.insert(values.end(), own.begin(), own.end());
    }
  }
  return values;
}

/// A trainer whose ranks may capture their collectives.
struct CapturingRun {
  explicit CapturingRun(const Options& options, int fails_at = -1)
      : ranks(options.communication),
        engines(make_engines(options.kernels)),
        network(plan_network(options, ranks.rank(), ranks.size())),
        trainer(network, *engines, ranks, options.run.steps),
        samples(network.step, ranks.rank(), ranks.size(), network.chain.input_type()),
        batches(samples, fails_at) {}

  CapturableRanks ranks;
  std::unique_ptr<EngineSet> engines;
  NetworkPlan network;
  Trainer trainer;
  SyntheticBatches samples;
  PlannedBatches batches;
};

/// A batch of 24 is the same number of micro-batches for 1 to 4 ranks.
Options even_options(DType type) {
  Options options = small_options(type);
  options.data.batch = 24;
  options.communication.bucket_bytes = 512;  // several buckets in flight
  return options;
}

void expect_the_steps_of_other_runs(const Options& options) {
  SmallRun plain(options);
  CapturingRun run(options);
  for (int i = 0; i < 7; ++i) {
    plain.trainer->step(*plain.batches, false);
    run.trainer.step(run.batches, false);
    if (i == 4) run.trainer.quiesce();  // as before a checkpoint: the next step has no update to complete
  }
  EXPECT_EQ(weights_of(run.trainer), weights_of(*plain.trainer));
  const StepState state = run.trainer.read_state();
  EXPECT_EQ(state.updates, 7u);
  EXPECT_EQ(state.record.loss, plain.trainer->read_state().record.loss);
  EXPECT_EQ(run.ranks.captures_begun(), run.ranks.size() > 1 ? 1 : 0) << "refused once";
  EXPECT_EQ(run.trainer.take_recording_refusal(), run.ranks.size() > 1 ? "no graphs here" : "");
}

TEST(CapturedRanks, MakeTheStepsOfOtherRuns) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16})
    expect_the_steps_of_other_runs(even_options(type));
}

TEST(CapturedRanks, MakeThemWithMicroBatches) {
  Options options = even_options(DType::bf16);
  options.data.micro_batch = 2;
  expect_the_steps_of_other_runs(options);
}

TEST(CapturedRanks, MakeThemWithShards) {
  for (const Shard shard : {Shard::state, Shard::gradients}) {
    Options options = even_options(DType::bf16);
    options.optimizer.shard = shard;
    expect_the_steps_of_other_runs(options);
  }
}

TEST(CapturedRanks, MakeThemWithNormsOfSharedParameters) {
  Options options = even_options(DType::fp32);
  options.optimizer.type = OptimizerType::lamb;
  options.optimizer.shard = Shard::state;
  expect_the_steps_of_other_runs(options);
}

/// The last rank cannot read a batch: in the first step, before the capture would begin, and after.
TEST(CapturedRanks, SkipTheStepOfARankThatHasNoBatch) {
  for (const std::int64_t micro_batch : {0, 2}) {
    Options options = even_options(DType::bf16);
    options.data.micro_batch = micro_batch;
    for (const int fails_at : {0, 1, 2, 3, 4, 7}) {
      CapturingRun undisturbed(options);
      const auto passes = static_cast<int>(undisturbed.network.step.micro_batches);
      const int failing_step = fails_at / passes;
      for (int i = 0; i < failing_step; ++i) undisturbed.trainer.step(undisturbed.batches, false);
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      CapturingRun run(options, rank == undisturbed.ranks.size() - 1 ? fails_at : -1);
      for (int i = 0; i <= failing_step + 1; ++i) run.trainer.step(run.batches, false);  // ranks see it later
      EXPECT_NE(run.trainer.read_state().halted, 0);
      EXPECT_EQ(weights_of(run.trainer), weights_of(undisturbed.trainer));
      EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_finite, {"row 17"},
                                [&] { run.trainer.throw_if_failed(run.trainer.quiesce()); }))
          << "on rank " << rank << ", call " << fails_at;
    }
  }
}

TEST(CapturedRanks, CaptureNothingIfTheirMicroBatchesDiffer) {
  Options options = even_options(DType::fp32);
  options.data.batch = 25;
  options.data.micro_batch = 12;
  CapturingRun run(options);
  if (run.network.step.min_micro_batches == run.network.step.max_micro_batches) GTEST_SKIP();
  for (int i = 0; i < 4; ++i) run.trainer.step(run.batches, false);
  run.trainer.quiesce();
  EXPECT_EQ(run.ranks.captures_begun(), 0);
}

}  // namespace mylos::captured_ranks_test
