// Training with a layer or a loss of the program: every rank count, sharding, recomputation, frozen groups,
// averages, checkpoints.
#include <unistd.h>

#include <filesystem>

#include "../../apps/custom_layer/advection.hpp"
#include "model/log_cosh_loss.hpp"
#include "mylos/base/errors/deck.hpp"
#include "train/own_loss.hpp"

namespace mylos::custom_layer_training_test {

using namespace online_support;  // NOLINT

/// On lines of 3 points with 2 channels: samples of input_width numbers.
Options with_layer(DType compute = DType::fp32) {
  Options options = online_options(compute);
  options.model.type = ModelType::chain;
  options.model.hidden = {};
  options.model.activation = Activation::relu;
  options.model.shape = {3, 2};
  options.model.chain = {
      {.kind = kinds::Conv{.kernel = {3}}, .name = "lift", .outputs = 4, .activation = Activation::tanh},
      {.kind = kinds::Custom{.layer = "advection", .settings = {{"speed", 0.25}}},
       .name = "moved",
       .dropout = 0.1,
       .repeat = 2},
      {.kind = kinds::Dense{}, .name = "head"}};
  options.model.custom_layers = {std::make_shared<Advection>()};
  options.run.steps = 40;
  return options;
}

float speed_of(OnlineTrainer& online, const char* layer) {
  std::vector<float> values(4);
  online.parameter(std::string(layer) + "/speed")
      .read(Kokkos::View<float*, Kokkos::HostSpace>(values.data(), values.size()));
  return values[0];
}

std::vector<float> trained(const Options& options, int steps) {
  OnlineTrainer online(options, MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    const Samples samples = share_of(rank_of(MPI_COMM_WORLD), static_cast<std::uint64_t>(step));
    online.step(samples.inputs, samples.targets);
  }
  return own_loss_support::values_of_parameters(online);
}

TEST(CustomLayerTraining, GivesTheSameBitsShardedAndRecomputed) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const Options plain = with_layer(type);
    const std::vector<float> expected = trained(plain, 6);
    Options other = plain;
    other.memory.recompute = RecomputeMode::all;
    EXPECT_EQ(trained(other, 6), expected) << "recomputed, " << name_of(type);
    other.optimizer.shard = Shard::state;
    EXPECT_EQ(trained(other, 6), expected) << "sharded too, " << name_of(type);
  }
}

/// The ranks' samples are those of one rank, which takes all of them.
TEST(CustomLayerTraining, OfManyRanksIsThatOfOne) {
  Options options = with_layer();
  options.model.chain[1].dropout = 0;
  const std::vector<float> together = trained(options, 6);
  options.data.micro_batch = most * size_of(MPI_COMM_WORLD);
  OnlineTrainer alone(options, MPI_COMM_SELF);
  for (std::uint64_t step = 0; step < 6; ++step) {
    const Samples samples = all_of(size_of(MPI_COMM_WORLD), step);
    alone.step(samples.inputs, samples.targets);
  }
  EXPECT_LT(largest_difference(own_loss_support::values_of_parameters(alone), together), 2e-5);
}

TEST(CustomLayerTraining, LeavesAFrozenLayerAsItIs) {
  Options options = with_layer();
  options.optimizer.groups = {{.match = {"moved.1/*"}, .lr_factor = {}, .weight_decay = {}, .frozen = true}};
  OnlineTrainer online(options, MPI_COMM_WORLD);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Samples samples(step, rank_of(MPI_COMM_WORLD), most);
    online.step(samples.inputs, samples.targets);
  }
  EXPECT_EQ(speed_of(online, "moved.1"), 0.25F);
  EXPECT_NE(speed_of(online, "moved.2"), 0.25F);
}

TEST(CustomLayerTraining, ContinuesFromACheckpointThatAModelReadsToo) {
  int process = getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string file = testing::TempDir() + "mylos_custom_layer_" + std::to_string(process) + ".h5";
  Options options = with_layer(DType::bf16);
  options.optimizer.average = 0.9;
  OnlineTrainer first(options, MPI_COMM_WORLD);
  const auto step = [](OnlineTrainer& online, std::uint64_t number) {
    const Samples samples = share_of(rank_of(MPI_COMM_WORLD), number);
    online.step(samples.inputs, samples.targets);
  };
  for (std::uint64_t number = 0; number < 4; ++number) step(first, number);
  first.save(file);
  OnlineTrainer second(options, MPI_COMM_WORLD);
  second.load(file);
  for (std::uint64_t number = 4; number < 7; ++number) {
    step(first, number);
    step(second, number);
  }
  EXPECT_EQ(masters_of(second), masters_of(first));

  second.load(file);
  const Samples samples(9, 0, 5);
  const Matrix expected("expected", 5, output_width);
  const Matrix found("found", 5, output_width);
  second.infer(samples.inputs, expected);
  Model model(file, {.custom_layers = options.model.custom_layers});
  model.infer(Execution(), samples.inputs, found);
  Kokkos::fence();
  for (std::int64_t i = 0; i < 5 * output_width; ++i) EXPECT_EQ(found.data()[i], expected.data()[i]) << i;
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::unknown_name, {"'moved.1'", "'advection'"},
                            [&] { const Model without(file); }));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_of(MPI_COMM_WORLD) == 0) std::filesystem::remove(file);
}

/// The program's loss in a step, and the same by its own loop.
TEST(CustomLossTraining, IsThatOfTheOwnLoop) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    Options options = online_options(type);
    options.optimizer.clip_norm = 0;
    options.model.loss = losses::Custom{};
    OnlineTrainer own(options, MPI_COMM_WORLD, OnlineOptions{.reduction = LossReduction::mean});
    options.model.custom_loss = std::make_shared<test::LogCosh>();
    OnlineTrainer online(options, MPI_COMM_WORLD);
    for (std::uint64_t step = 0; step < 5; ++step) {
      const Samples samples(step, most * rank_of(MPI_COMM_WORLD), most);
      const StepReport report = online.step(samples.inputs, samples.targets);
      const Matrix y("y", most, output_width);
      own.forward(samples.inputs, y);
      const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
      const auto targets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.targets);
      double loss = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = double{values.data()[i]} - double{targets.data()[i]};
        loss += test::log_cosh(error) / output_width;
        values.data()[i] = static_cast<float>(std::tanh(error) / output_width);
      }
      Kokkos::deep_copy(y, values);
      own.backward(y);
      EXPECT_NEAR(own.apply(ApplyOptions{.lr = {}, .loss = loss}).loss, report.loss,
                  type == DType::fp32 ? 1e-6 : 1e-2);
    }
    EXPECT_LT(largest_difference(masters_of(own), masters_of(online)), type == DType::fp32 ? 2e-5 : 2e-2);
  }
}

TEST(CustomLossTraining, IsRefusedWhereNoProgramBringsIt) {
  Options options = online_options();
  options.model.loss = losses::Custom{};
  OnlineTrainer online(options, MPI_COMM_WORLD);
  const Samples samples(0, 0, most);
  expect_error([&] { online.step(samples.inputs, samples.targets); }, errors::unknown_name, {"\"custom\""});
}

}  // namespace mylos::custom_layer_training_test
