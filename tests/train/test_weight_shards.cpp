// Steps with masters, moments and gradients cut over ranks are those of ranks that hold all, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/write/replicas.hpp"
#include "mylos/train/start/run_state.hpp"
#include "support/refusal.hpp"
#include "train/faulty_block.hpp"
#include "train/synthetic.hpp"

namespace mylos::shards_test {

using namespace testing_support;  // NOLINT

/// Masters, or moments, of all ranks: every element from the rank that holds it.
std::vector<float> joined(SmallRun& run, const std::function<HeldPart(std::size_t)>& part_of) {
  const ParameterLayout& layout = run.trainer->model().parameters().layout();
  std::vector<float> values;
  for (std::size_t i = 0; i < layout.slots.size(); ++i) {
    const HeldPart part = part_of(i);
    std::vector<float> own(static_cast<std::size_t>(layout.slots[i].size()));
    const std::vector<float> held = test::values_of(part.values);
    std::copy(held.begin(), held.end(), own.begin() + part.first);
    std::vector<float> all(own.size() * static_cast<std::size_t>(run.communicator->size()));
    run.communicator->ranks().all_gather(own.data(), all.data(), own.size() * sizeof(float));
    for (std::size_t e = 0; e < own.size(); ++e) {
      float value = 0;  // nobody else's
      for (std::size_t at = e; at < all.size(); at += own.size()) value += all[at];
      values.push_back(layout.shard_owners == 1 ? own[e] : value);
    }
  }
  return values;
}
std::vector<float> all_masters(SmallRun& run) {
  return joined(run, [&](std::size_t slot) { return run.trainer->model().parameters().held_master(slot); });
}
std::vector<float> all_moments(SmallRun& run, std::size_t index) {
  return joined(run, [&](std::size_t slot) { return run.trainer->optimizer().moment(index, slot); });
}

std::vector<float> all_averages(SmallRun& run) {
  return joined(run, [&](std::size_t slot) { return run.trainer->optimizer().average(slot); });
}

void expect_equal(SmallRun& plain, SmallRun& sharded) {
  EXPECT_EQ(all_masters(sharded), all_masters(plain));
  if (plain.trainer->optimizer().averages()) {
    EXPECT_EQ(all_averages(sharded), all_averages(plain));
  }
  for (std::size_t i = 0; i < plain.trainer->optimizer().moment_names().size(); ++i) {
    EXPECT_EQ(all_moments(sharded, i), all_moments(plain, i)) << plain.trainer->optimizer().moment_names()[i];
  }
}

void expect_equal(const StepRecord& sharded, const StepRecord& plain) {
  EXPECT_EQ(sharded.loss, plain.loss);
  EXPECT_EQ(sharded.gradient_norm, plain.gradient_norm);
  EXPECT_EQ(sharded.scale, plain.scale);
  EXPECT_EQ(sharded.overflow, plain.overflow);
  EXPECT_EQ(sharded.updates, plain.updates);
}

Options sharded(Options options, Shard shard = Shard::state) {
  options.optimizer.shard = shard;
  return options;
}

/// Spectral layers on a grid, whose matrices of transforms no rank cuts.
Options waves(DType compute) {
  Options options = small_options(compute);
  options.model.type = ModelType::chain;
  options.model.shape = {2, 2, 3};
  LayerOptions wave{.kind = kinds::Spectral{.modes = {2}}, .outputs = 5};
  wave.activation = Activation::gelu;
  options.model.chain = {wave, wave, {.kind = kinds::Dense{}}};
  options.communication.bucket_bytes = 512;
  return options;
}

/// Networks of one type, of several in turns, and of several in one bucket.
std::vector<Options> many_runs(DType compute) {
  std::vector<Options> all;
  Options options = small_options(compute);
  options.model.norm = NormType::layernorm;
  options.model.dropout = 0.1;
  options.optimizer.clip_norm = 0.5;
  options.communication.bucket_bytes = 1500;
  all.push_back(options);
  options.data.micro_batch = 3;
  all.push_back(options);
  options.precision.rules = {{"layernorm", DType::fp32}, {"hidden2", DType::bf16}, {"head", DType::fp32}};
  all.push_back(options);
  options.optimizer.type = OptimizerType::sgd;
  options.optimizer.nesterov = true;
  options.optimizer.average = 0.75;
  options.data.micro_batch = 0;
  all.push_back(options);
  options.optimizer.type = OptimizerType::lion;
  options.optimizer.groups = {{{"hidden1/weight"}, {}, {}, true}, {{"head/*", "norm*"}, 0.5, 0.25, {}}};
  all.push_back(options);
  options.optimizer.type = OptimizerType::lamb;
  all.push_back(options);
  all.push_back(waves(compute));
  if (compute == DType::fp32) return all;
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(all[i]);
    all.back().precision.masters = MasterWeights::none;
  }
  return all;
}

/// Of whole shares, with more buckets than are in flight at one time.
std::vector<Options> many_deep_runs(DType compute) {
  std::vector<Options> all;
  for (Options options : many_runs(compute)) {
    if (options.data.micro_batch > 0 || options.model.type == ModelType::chain) continue;
    options.model.hidden = {24, 16, 24, 16, 40, 8};
    options.communication.bucket_bytes = 64;
    all.push_back(options);
  }
  return all;
}

/// The records of steps one behind the other, each of which starts with what the one before it left in
/// flight.
std::vector<StepRecord> records_of_steps(SmallRun& run, int count) {
  std::vector<StepRecord> records;
  for (int i = 0; i < count; ++i) {
    run.trainer->step(*run.batches, false);
    records.push_back(run.trainer->read_state().record);
  }
  run.trainer->quiesce();
  return records;
}

void expect_equal_steps(SmallRun& plain, SmallRun& sharded) {
  const std::vector<StepRecord> expected = records_of_steps(plain, 6);
  const std::vector<StepRecord> found = records_of_steps(sharded, 6);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_equal(found[i], expected[i]);
  expect_equal(plain, sharded);
}

class Shards : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Shards, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(Shards, GiveTheWeightsMomentsAndLossesOfAPlainRun) {
  for (const Options& options : many_runs(GetParam())) {
    SmallRun plain(options);
    SmallRun cut(sharded(options));
    EXPECT_EQ(cut.trainer->model().parameters().layout().shard_owners, cut.communicator->size());
    expect_equal_steps(plain, cut);
  }
}

TEST_P(Shards, OfGradientsTooGiveTheWeightsMomentsAndLossesOfAPlainRun) {
  for (const Options& options : many_deep_runs(GetParam())) {
    SmallRun plain(options);
    SmallRun cut(sharded(options, Shard::gradients));
    EXPECT_EQ(cut.trainer->model().parameters().layout().cuts_gradients(), cut.communicator->size() > 1);
    expect_equal_steps(plain, cut);
  }
}

TEST(GradientShards, AreRefusedWhereARankHasSeveralMicroBatches) {
  Options options = sharded(small_options(DType::bf16), Shard::gradients);
  options.data.batch = 24;
  const auto plan = [&](std::int64_t micro_batch, int ranks) {
    options.data.micro_batch = micro_batch;
    static_cast<void>(make_step_plan(options, 0, ranks));
  };
  const auto refuses = [&](std::int64_t micro_batch, int ranks, std::string_view part) {
    return test::refuses(ExitCode::bad_input, errors::keys_conflict,
                         {"optimizer.shard = \"gradients\"", part}, [&] { plan(micro_batch, ranks); });
  };
  EXPECT_TRUE(refuses(2, 4, "data.micro_batch to 6 or more"));
  EXPECT_TRUE(refuses(2, 5, "a rank of 5 has 3 in a step"));
  EXPECT_NO_THROW(plan(6, 4));
  EXPECT_NO_THROW(plan(0, 4));
  EXPECT_NO_THROW(plan(2, 1)) << "one rank holds all";
  options.run.reproducible = true;
  EXPECT_TRUE(refuses(3, 4, "set optimizer.shard = \"state\""));
  EXPECT_NO_THROW(plan(6, 4));
}

TEST_P(Shards, SkipTogetherWhereOneRankOverflows) {
  const auto expect_skips = [](Options options, Shard shard) {
    options.precision.scaler.mode = ScalerMode::dynamic;
    options.precision.scaler.initial_scale = 1024;
    const auto fail_once = [](Chain& chain) {
      int rank = 0;
      int size = 1;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm_size(MPI_COMM_WORLD, &size);
      std::size_t block = 1;
      while (chain.blocks[block]->parameters().empty()) ++block;
      if (rank == size - 1) make_faulty(chain, block, {"weight gradient", 3, 3});
    };
    SmallRun plain(options, fail_once);
    SmallRun cut(sharded(options, shard), fail_once);
    std::int64_t skipped = 0;
    for (int i = 0; i < 12; ++i) {
      const StepRecord record = cut.step().record;
      expect_equal(record, plain.step().record);
      skipped += record.overflow != 0 ? 1 : 0;
    }
    EXPECT_GT(skipped, 0);
    EXPECT_LT(skipped, 12);
    expect_equal(plain, cut);
  };
  for (const Options& options : many_runs(GetParam())) expect_skips(options, Shard::state);
  for (const Options& options : many_deep_runs(GetParam())) expect_skips(options, Shard::gradients);
}

TEST(Replicas, OfCutMastersAreComparedByTheWeightsThatAllRead) {
  SmallRun run(sharded(small_options(DType::bf16)));
  if (run.communicator->size() == 1) GTEST_SKIP() << "one rank has no replica";
  run.step();
  run.communicator->synchronize(run.trainer->execution());
  RunState kept;
  const auto compare = [&] {
    require_equal_replicas(run.communicator->ranks(), run.trainer->execution(),
                           full_state(run.trainer->quiesce(), *run.trainer, kept));
  };
  EXPECT_NO_THROW(compare());
  if (run.communicator->rank() == run.communicator->size() - 1) {
    const Tensor weight = run.trainer->model().parameters().weights(0)[0];
    std::vector<float> values = test::values_of(weight);
    values[5] += 1;
    test::set_values(weight, values);
  }
  EXPECT_TRUE(test::refuses(errors::replicas_differ, {}, compare));
}

}  // namespace mylos::shards_test
