// Ranks that normalise their batches together exchange sums within their passes: all make the same passes,
// whoever has samples or fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/internal.hpp"
#include "support/refusal.hpp"
#include "train/synthetic.hpp"

namespace mylos::statistics_of_ranks_test {

using namespace testing_support;

Options normalised_options(Shard shard) {
  Options options = small_options(DType::bf16);
  options.model.type = ModelType::chain;
  LayerOptions hidden{.kind = kinds::Dense{}, .outputs = 24};
  hidden.norm = NormType::batchnorm;
  hidden.norm_over = NormOver::ranks;
  hidden.activation = Activation::relu;
  options.model.chain = {hidden, hidden, {.kind = kinds::Dense{}}};
  options.data.batch = 33;  // not the same for all ranks
  options.data.micro_batch = 8;
  options.optimizer.shard = shard;
  options.communication.bucket_bytes = 1024;  // several, between the statistics
  return options;
}

/// Fails at one micro-batch, or has no samples from one on.
class TroubledBatches final : public BatchSource {
 public:
  enum class Trouble { none, fails, has_none };
  TroubledBatches(BatchSource& inner, Trouble trouble, int at)
      : inner_(inner), trouble_(trouble), left_(at) {}
  MicroBatch next(const Execution& exec) override {
    const bool is_over = left_-- <= 0;
    if (is_over && trouble_ == Trouble::fails)
      fail_input(errors::not_finite, "train.h5: row 17, column 3 is NaN");
    MicroBatch batch = inner_.next(exec);
    if (is_over && trouble_ == Trouble::has_none)
      batch.inputs = {batch.inputs.data(), batch.inputs.type(), 0, batch.inputs.columns()};
    return batch;
  }

 private:
  BatchSource& inner_;
  Trouble trouble_;
  int left_;
};
using Trouble = TroubledBatches::Trouble;

bool is_last(const SmallRun& run) {
  return run.communicator->rank() + 1 == run.communicator->size();
}

std::vector<std::vector<float>> statistics(const SmallRun& run) {
  run.trainer->execution().fence();
  std::vector<std::vector<float>> values;
  for (const BufferStore::StateBuffer& buffer : run.trainer->model().buffers().state())
    values.push_back(test::values_of(buffer.values));
  return values;
}

class Statistics : public testing::TestWithParam<Shard> {};

TEST_P(Statistics, AnErrorAtAnyMicroBatchReachesAllRanks) {
  for (int at = 0; at < 4; ++at) {
    SmallRun run(normalised_options(GetParam()));
    TroubledBatches batches(*run.batches, is_last(run) ? Trouble::fails : Trouble::none, at);
    const auto before = statistics(run);
    bool has_failed = false;
    for (int step = 0; step < 4 && !has_failed; ++step) {
      run.trainer->step(batches, false);
      run.trainer->quiesce();
      has_failed = run.trainer->read_state().halted != 0;
      if (step == 0 && has_failed) {
        EXPECT_EQ(statistics(run), before) << "a step that failed moves nothing";
      }
    }
    ASSERT_TRUE(has_failed) << at;
    EXPECT_TRUE(test::refuses(errors::not_finite, {"train.h5: row 17, column 3"},
                              [&] { run.trainer->throw_if_failed(run.trainer->quiesce()); }))
        << "on rank " << run.communicator->rank();
  }
}

TEST_P(Statistics, RanksWithoutSamplesTakePart) {
  for (int at = 0; at < 3; ++at) {
    SmallRun run(normalised_options(GetParam()));
    if (run.communicator->size() == 1) GTEST_SKIP() << "one rank has all samples";
    TroubledBatches batches(*run.batches, is_last(run) ? Trouble::has_none : Trouble::none, at);
    const auto before = statistics(run);
    for (int step = 0; step < 3; ++step) run.trainer->step(batches, false);
    run.trainer->quiesce();
    const StepState state = run.trainer->read_state();
    EXPECT_EQ(state.halted, 0);
    EXPECT_EQ(state.updates, 3u);
    EXPECT_LT(state.record.rows, 33) << "the last rank had fewer, or none";
    const auto after = statistics(run);
    EXPECT_NE(after, before);
    for (const std::vector<float>& values : after) {
      std::vector<float> first = values;
      run.communicator->ranks().broadcast(first.data(), first.size() * sizeof(float), 0);
      EXPECT_EQ(values, first) << "statistics are the same on all ranks";
    }
  }
}

TEST_P(Statistics, AnObserverThatStopsOneRanksPassesLeavesTheOthersInStep) {
  SmallRun whole(normalised_options(GetParam())), looked_at(normalised_options(GetParam()));
  for (int stops_at = 0; stops_at < 40; stops_at += 3) {
    int seen = 0;
    const Observer observer = [&](const Observation&) {
      if (is_last(looked_at) && seen++ == stops_at) fail_run(errors::internal, "seen enough");
    };
    try {
      looked_at.trainer->observe_gradients(*looked_at.batches, observer);
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "seen enough");
    }
    looked_at.batches->seek(0);
  }
  for (SmallRun* run : {&whole, &looked_at}) {
    run->trainer->step(*run->batches, false);
    run->trainer->quiesce();
  }
  EXPECT_EQ(statistics(looked_at), statistics(whole));
}

INSTANTIATE_TEST_SUITE_P(Shards, Statistics, testing::Values(Shard::none, Shard::state));

}  // namespace mylos::statistics_of_ranks_test
