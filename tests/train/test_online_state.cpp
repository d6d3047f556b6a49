// What a network trained on views leaves in a checkpoint, and how it goes on from one.
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "train/online.hpp"

namespace mylos::online_state_test {

using namespace online_support;  // NOLINT

class OnlineState : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, OnlineState, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

/// The same path on all ranks, and another in every program that runs meanwhile.
std::string scratch(const char* name) {
  int process = getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return testing::TempDir() + "mylos_online_" + std::to_string(process) + "_" + name;
}

TEST(OnlineCheckpoint, DivergenceNamesItsCauseAndALoadedCheckpointGoesOn) {
  Options options = online_options();
  options.precision.scaler.max_consecutive_skips = 3;
  OnlineTrainer online(options, MPI_COMM_WORLD);
  const Samples good(0, 0, most);
  online.step(good.inputs, good.targets);
  const std::string file = scratch("before.h5");
  online.save(file);
  const std::vector<float> before = masters_of(online);
  const Samples bad(0, 0, most);
  Kokkos::deep_copy(bad.targets, std::numeric_limits<float>::infinity());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(online.step(bad.inputs, bad.targets).updated);
  for (int i = 0; i < 2; ++i) {
    expect_error([&] { online.step(bad.inputs, bad.targets); }, errors::diverged, {"rank 0, layer head"},
                 ExitCode::diverged);
  }
  EXPECT_EQ(masters_of(online), before);
  online.load(file);
  EXPECT_TRUE(online.step(good.inputs, good.targets).updated);
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST(OnlineCheckpoint, HasTheScalersStatisticsAndAResetBeginsThemAnew) {
  Options options = online_options(DType::fp16);
  OnlineTrainer first(options, MPI_COMM_WORLD);
  const Samples good(0, 0, most);
  const Samples bad(0, 0, most);
  Kokkos::deep_copy(bad.targets, std::numeric_limits<float>::infinity());
  double norms = 0;
  for (const Samples* samples : {&good, &bad, &good, &bad, &good})
    if (const StepReport report = first.step(samples->inputs, samples->targets); report.updated)
      norms += report.gradient_norm;
  const auto expect_five_steps = [norms](const ScalerStatistics& found) {
    EXPECT_EQ(found.steps, 5);
    EXPECT_EQ(found.overflows, 2);
    EXPECT_EQ(found.recent_steps, 5);
    EXPECT_DOUBLE_EQ(found.recent_overflow_rate, 0.4);
    EXPECT_EQ(found.decreases, 2);
    EXPECT_EQ(found.scale, 16384);
    EXPECT_EQ(found.applied, 3);
    EXPECT_DOUBLE_EQ(found.mean_gradient_norm, norms / 3);
  };
  expect_five_steps(first.scaler());
  const std::string file = scratch("statistics.h5");
  first.save(file);
  OnlineTrainer second(options, MPI_COMM_WORLD);
  second.load(file);
  expect_five_steps(second.scaler());

  options.precision.scaler.reset = true;
  std::string said;
  OnlineTrainer third(options, MPI_COMM_WORLD, [&](const std::string& line) { said = line; });
  third.load(file);
  EXPECT_EQ(third.scaler().steps, 0);
  EXPECT_EQ(third.scaler().scale, 65536);
  EXPECT_THAT(said, testing::HasSubstr(rank_of(MPI_COMM_WORLD) == 0 ? "begins afresh at step 5" : ""));
  third.step(bad.inputs, bad.targets);
  third.save(file);
  third.load(file);
  EXPECT_EQ(third.scaler().steps, 1) << "a checkpoint of its own is not reset again";
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST(OnlineStates, WithoutMastersGoOnFromMastersThatAreRoundedAndSayIt) {
  Options options = online_options(DType::bf16);
  OnlineTrainer with(options, MPI_COMM_WORLD);
  const Samples own = share_of(rank_of(MPI_COMM_WORLD), 0);
  with.step(own.inputs, own.targets);
  const std::string file = scratch("masters.h5");
  with.save(file);
  options.precision.masters = MasterWeights::none;
  std::string said;
  OnlineTrainer without(options, MPI_COMM_WORLD, [&](const std::string& line) { said = line; });
  without.load(file);
  EXPECT_THAT(said, testing::HasSubstr(rank_of(MPI_COMM_WORLD) == 0 ? "are rounded to nearest, once" : ""));
  const std::vector<float> masters = masters_of(with);
  const std::vector<float> weights = masters_of(without);
  ASSERT_EQ(weights.size(), masters.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    ASSERT_EQ(weights[i], test::rounded_to(DType::bf16, masters[i])) << i;
  said.clear();
  without.save(file);
  without.load(file);
  EXPECT_EQ(said, "");
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST(OnlineCheckpoint, CountsTheSamplesOfAllSteps) {
  const std::string file = scratch("position.h5");
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  const auto expect_position = [&](std::int64_t steps) {
    online.save(file);
    std::int64_t position = -1;
    RankGroup ranks(MPI_COMM_WORLD, 60);
    CheckpointReader(ranks, file).file().dataset("/data/position").read(0, 1, &position);
    EXPECT_EQ(position, steps * most * size_of(MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
  };
  const Samples samples(0, 0, most);
  for (int i = 0; i < 3; ++i) online.step(samples.inputs, samples.targets);
  expect_position(3);
  for (int i = 0; i < 2; ++i) online.step(samples.inputs, samples.targets);  // which the file lacks
  online.load(file);
  online.step(samples.inputs, samples.targets);
  expect_position(4);
  std::filesystem::remove(file);
}

TEST(OnlineCheckpoint, WithoutAnAverageBeginsItWithItsWeights) {
  const std::string file = scratch("no_average.h5");
  Options options = online_options();
  OnlineTrainer without(options, MPI_COMM_WORLD);
  without.save(file);
  options.optimizer.average = 0.9;
  OnlineTrainer with(options, MPI_COMM_WORLD);
  const Samples samples(0, 0, most);
  for (int i = 0; i < 3; ++i) with.step(samples.inputs, samples.targets);
  const auto average = [&] {
    std::vector<float> values;
    for (std::size_t slot = 0; slot < with.trainer().model().parameters().layout().slots.size(); ++slot) {
      const std::vector<float> own = test::values_of(with.trainer().optimizer().average(slot).values);
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  };
  EXPECT_NE(average(), masters_of(with));
  with.load(file);
  EXPECT_EQ(masters_of(with), masters_of(without));
  EXPECT_EQ(average(), masters_of(with));
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

void expect_to_go_on_bit_for_bit(Options options) {
  options.model.dropout = 0.1;
  const int rank = rank_of(MPI_COMM_WORLD);
  OnlineTrainer whole(options, MPI_COMM_WORLD);
  const std::string file = scratch("saved.h5");
  for (std::uint64_t step = 0; step < 5; ++step) {
    const Samples own = share_of(rank, step);
    whole.step(own.inputs, own.targets);
  }
  whole.save(file);
  OnlineTrainer resumed(options, MPI_COMM_WORLD);
  resumed.load(file);
  EXPECT_EQ(masters_of(resumed), masters_of(whole));
  for (std::uint64_t step = 5; step < 10; ++step) {
    const Samples own = share_of(rank, step);
    const StepReport a = whole.step(own.inputs, own.targets);
    const StepReport b = resumed.step(own.inputs, own.targets);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.gradient_norm, b.gradient_norm);
  }
  EXPECT_EQ(masters_of(resumed), masters_of(whole));

  Options others = options;
  others.model.activation = Activation::relu;
  OnlineTrainer different(others, MPI_COMM_WORLD);
  const std::vector<float> before = masters_of(different);
  expect_error([&] { different.load(file); }, errors::model_mismatch,
               {"saved.h5", "model.activation was \"tanh\""});
  EXPECT_EQ(masters_of(different), before);
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST_P(OnlineState, ALoadedCheckpointGoesOnBitForBit) {
  Options options = online_options(GetParam());
  expect_to_go_on_bit_for_bit(options);
  if (GetParam() == DType::fp32) return;
  options.precision.masters = MasterWeights::none;
  expect_to_go_on_bit_for_bit(options);
}

TEST(OnlineCheckpoint, AModelFileIsRefused) {
  const std::string file = scratch("model.h5");
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  online.save(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_of(MPI_COMM_WORLD) == 0) write_user_block(file, contents_digest(file), FileKind::model);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::vector<float> before = masters_of(online);
  expect_error([&] { online.load(file); }, errors::weights_only, {"model.h5", "model file"});
  EXPECT_EQ(masters_of(online), before);
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST_P(OnlineState, CutMastersGoOnFromWholeOnesAndBack) {
  const Options options = online_options(GetParam());
  Options cut_options = options;
  cut_options.optimizer.shard = Shard::state;
  const int rank = rank_of(MPI_COMM_WORLD);
  const std::string file = scratch("handed_over.h5");
  OnlineTrainer whole(options, MPI_COMM_WORLD);
  OnlineTrainer cut(cut_options, MPI_COMM_WORLD);
  const auto make_steps = [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t step = first; step < end; ++step) {
      const Samples own = share_of(rank, step);
      EXPECT_EQ(cut.step(own.inputs, own.targets).loss, whole.step(own.inputs, own.targets).loss) << step;
    }
  };
  const Samples other(100, 0, most);
  whole.step(other.inputs, other.targets);
  whole.save(file);
  cut.load(file);
  make_steps(0, 4);
  cut.save(file);
  OnlineTrainer back(options, MPI_COMM_WORLD);
  back.load(file);
  EXPECT_EQ(masters_of(back), masters_of(whole));
  const Samples own = share_of(rank, 4);
  EXPECT_EQ(back.step(own.inputs, own.targets).loss, whole.step(own.inputs, own.targets).loss);
  EXPECT_EQ(masters_of(back), masters_of(whole)) << "moments too";
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

}  // namespace mylos::online_state_test
