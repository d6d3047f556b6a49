// A step in parts with the program's own loss, beside step(), on any number of ranks.
#include <functional>
#include <limits>

#include "train/allocations.hpp"
#include "train/engines.hpp"
#include "train/own_loss.hpp"

namespace mylos::own_loss_test {

using namespace online_support;    // NOLINT
using namespace own_loss_support;  // NOLINT

struct Case {
  std::string name;
  DType type;
  std::function<void(Options&)> change;
};

std::vector<Case> cases() {
  const auto none = [](Options&) {};
  std::vector<Case> all;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const std::string name(name_of(type));
    all.push_back({name, type, none});
    all.push_back({name + "_sharded", type, [](Options& o) { o.optimizer.shard = Shard::state; }});
    all.push_back({name + "_several", type, [](Options& o) {
                     o.memory.recompute = RecomputeMode::all;
                     o.optimizer.average = 0.9;
                     o.optimizer.groups.resize(1);
                     o.optimizer.groups[0].match = {"hidden1/*"};
                     o.optimizer.groups[0].frozen = true;
                     o.model.dropout = 0.1;
                   }});
  }
  all.push_back({"sharded_gradients", DType::bf16, [](Options& o) {
                   o.model.hidden.assign(8, 24);
                   o.communication.bucket_bytes = 2048;
                   o.optimizer.shard = Shard::gradients;
                 }});
  all.push_back({"no_masters", DType::bf16, [](Options& o) { o.precision.masters = MasterWeights::none; }});
  all.push_back(
      {"float_gradients", DType::fp16, [](Options& o) { o.precision.gradient = GradientType::fp32; }});
  return all;
}

class OwnMse : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, OwnMse, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST_P(OwnMse, OfAMeanIsAStepBitForBit) {
  Options options = online_options(GetParam().type);
  GetParam().change(options);
  OnlineTrainer built_in(options, MPI_COMM_WORLD);
  OnlineTrainer own(options, MPI_COMM_WORLD, OnlineOptions{.reduction = LossReduction::mean});
  const int rank = rank_of(MPI_COMM_WORLD);
  for (std::uint64_t step = 0; step < 50; ++step) {
    const Samples samples = share_of(rank, step);
    const StepReport a = built_in.step(samples.inputs, samples.targets);
    const double loss = one_pass(own, samples, 1.0f / output_width);
    const StepReport b = own.apply({.lr = {}, .loss = loss});
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.updated, b.updated);
    EXPECT_EQ(a.gradient_norm, b.gradient_norm);
    EXPECT_EQ(a.lr, b.lr);
    EXPECT_EQ(a.loss_scale, b.loss_scale);
    EXPECT_NEAR(a.loss, b.loss, 1e-5 * a.loss);
  }
  expect_equal_states(built_in, own);
}

TEST_P(OwnMse, OfASumIsAStepBitForBitOnPowersOfTwoRanks) {
  const int ranks = size_of(MPI_COMM_WORLD);
  Options options = online_options(GetParam().type);
  options.data.micro_batch = 13;
  GetParam().change(options);
  OnlineTrainer built_in(options, MPI_COMM_WORLD);
  OnlineTrainer own(options, MPI_COMM_WORLD, OnlineOptions{});
  const float factor = (1.0f / 13) * (1.0f / output_width) / static_cast<float>(ranks);
  for (std::uint64_t step = 0; step < 50; ++step) {
    const Samples samples(step, 13 * rank_of(MPI_COMM_WORLD), 13);
    const StepReport a = built_in.step(samples.inputs, samples.targets);
    const double loss = one_pass(own, samples, factor) * factor * output_width;
    const StepReport b = own.apply({.lr = {}, .loss = loss});
    if (step > 0) continue;
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-2 * a.gradient_norm);
    EXPECT_NEAR(a.loss, b.loss, 1e-2 * a.loss);
  }
  if (ranks != 3) expect_equal_states(built_in, own);
}

TEST(OwnLoss, SeveralPassesAreOneBatchAlsoOnRanksThatMakeFewer) {
  for (const LossReduction reduction : {LossReduction::sum, LossReduction::mean}) {
    const OnlineOptions wanted{.reduction = reduction};
    const int ranks = size_of(MPI_COMM_WORLD);
    OnlineTrainer together(online_options(), MPI_COMM_WORLD, wanted);
    Options options = online_options();
    options.data.micro_batch = 4 * most * ranks;
    OnlineTrainer alone(options, MPI_COMM_SELF, wanted);
    for (std::uint64_t step = 0; step < 10; ++step) {
      std::int64_t first = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (std::int64_t pass = 0; pass < rank % 3 + (ranks == 1 ? 3 : 0); ++pass) {
          const std::int64_t count = most - pass - rank;
          if (rank == rank_of(MPI_COMM_WORLD)) one_pass(together, {step, first, count}, 0.25f);
          first += count;
        }
      }
      one_pass(alone, {step, 0, first}, 0.25f);
      const StepReport a = together.apply();
      const StepReport b = alone.apply();
      EXPECT_EQ(a.samples, first);
      EXPECT_EQ(b.samples, first);
      EXPECT_TRUE(std::isnan(a.loss));
      EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5 * b.gradient_norm);
    }
    EXPECT_LT(largest_difference(values_of_parameters(together), values_of_parameters(alone)), 2e-5);
  }
}

TEST(OwnLoss, AStepWithoutPassesUpdatesNothing) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD, OnlineOptions{});
  one_pass(online, {0, 0, most}, 1);
  EXPECT_TRUE(online.apply().updated);
  const std::vector<float> before = values_of_parameters(online);
  const StepReport nothing = online.apply();
  EXPECT_FALSE(nothing.updated);
  EXPECT_EQ(nothing.samples, 0);
  EXPECT_EQ(nothing.step, 2u);
  one_pass(online, {0, 0, 0}, 1);
  EXPECT_FALSE(online.apply().updated);
  EXPECT_EQ(values_of_parameters(online), before);
}

class OwnTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, OwnTypes, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(OwnTypes, ANumberThatIsNotFiniteInOneRanksGradientSkipsOnAll) {
  OnlineTrainer online(online_options(GetParam()), MPI_COMM_WORLD, OnlineOptions{});
  const Samples samples(0, 0, most);
  const bool guilty = rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    one_pass(online, samples, 0.01f);
    const std::vector<float> before = values_of_parameters(online);
    const Matrix y("y", most, output_width);
    online.forward(samples.inputs, y);
    if (guilty) Kokkos::deep_copy(Kokkos::subview(y, 3, 1), bad);
    online.backward(y);
    const StepReport skipped = online.apply();
    EXPECT_FALSE(skipped.updated);
    EXPECT_GE(skipped.overflow_rank, 0);
    EXPECT_EQ(values_of_parameters(online), before);
    one_pass(online, samples, 0.01f);
    EXPECT_TRUE(online.apply().updated);
    EXPECT_NE(values_of_parameters(online), before);
  }
}

TEST(OwnLoss, PassesAllocateNothing) {
  if (!testing_support::has_tiles()) GTEST_SKIP() << "no tiles in this build";
  Options options = online_options(DType::bf16);
  options.kernels.gemm = GemmChoice::tiles;  // oneDNN 2.6 itself allocates at every call
  OnlineTrainer online(options, MPI_COMM_WORLD, OnlineOptions{.input_gradients = true});
  const Samples samples(0, 0, most);
  const Matrix y("y", most, output_width);
  const Matrix dx("dx", most, input_width);
  const auto work = [&] {
    for (int pass = 0; pass < 2; ++pass) {
      online.forward(samples.inputs, y);
      online.backward(y, dx);
    }
    online.apply(1e-3);
  };
  testing_support::expect_no_allocations(work);
}

}  // namespace mylos::own_loss_test
