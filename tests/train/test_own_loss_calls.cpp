// The order of the calls that make up a step, their errors, and what holds between them.
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/runs.hpp"
#include "train/own_loss.hpp"

namespace mylos::own_loss_calls_test {

using namespace online_support;    // NOLINT
using namespace own_loss_support;  // NOLINT

TEST(OwnLossCalls, DivergenceIsAnErrorAndALoadedCheckpointContinues) {
  Options options = online_options();
  options.precision.scaler.max_consecutive_skips = 2;
  OnlineTrainer online(options, MPI_COMM_WORLD, OnlineOptions{});
  int process = getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string file = testing::TempDir() + "mylos_own_loss_" + std::to_string(process) + ".h5";
  online.save(file);
  const Matrix y("y", most, output_width);
  const auto bad_step = [&] {
    online.forward(Samples(0, 0, most).inputs, y);
    Kokkos::deep_copy(y, std::numeric_limits<float>::infinity());
    online.backward(y);
    return online.apply();
  };
  EXPECT_FALSE(bad_step().updated);
  for (int i = 0; i < 2; ++i)
    expect_error(bad_step, errors::diverged, {"step 2", "dL/dy"}, ExitCode::diverged);
  online.load(file);
  one_pass(online, {0, 0, most}, 1);
  EXPECT_TRUE(online.apply().updated);
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST(OwnLossCalls, CallsInAnotherOrderAreErrorsAndTrainingContinues) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD, OnlineOptions{});
  const Samples samples(0, 0, most);
  const Matrix y("y", most, output_width);
  const Matrix few("few", 3, output_width);
  const Matrix dx("dx", most, input_width);
  const std::vector<float> before = values_of_parameters(online);
  const bool guilty = rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  expect_error([&] { online.backward(y); }, errors::bad_call, {"backward()", "forward()"});
  expect_error([&] { online.forward(Samples(0, 0, most + 1).inputs, y); }, errors::bad_call,
               {"17 samples", "16 of data.micro_batch"});
  expect_error([&] { online.forward(samples.inputs, few); }, errors::bad_call, {"y has 3 rows", "16"});
  expect_error([&] { online.forward(y, y); }, errors::bad_call, {"x of [16, 3]", "model.inputs is 6"});
  online.forward(samples.inputs, y);
  expect_error([&] { online.backward(few); }, errors::bad_call, {"dy has 3 rows", "16 samples"});
  expect_error([&] { online.backward(y, dx); }, errors::bad_call, {"OnlineOptions", "input_gradients"});
  expect_error([&] { online.parameter("head/weight").write(Matrix("w", output_width, 16)); },
               errors::bad_call, {"head/weight", "between forward() and backward()"});
  online.backward(y);
  expect_error([&] { online.backward(y); }, errors::bad_call, {"backward()", "forward()"});
  // On one rank: an error on all, and what was accumulated is gone.
  if (guilty) online.forward(samples.inputs, y);
  expect_error([&] { online.apply(); }, errors::bad_call, {"apply()", "forward()", "discarded"});
  if (guilty) one_pass(online, samples, 1);
  expect_error([&] { online.step(samples.inputs, samples.targets); }, errors::bad_call,
               {"step()", "apply()"});
  one_pass(online, samples, 1);
  expect_error([&] { online.apply(guilty ? -1.0 : 1e-3); }, errors::bad_call, {"learning rate -1"});
  if (size_of(MPI_COMM_WORLD) > 1) {
    one_pass(online, samples, 1);
    expect_error([&] { online.apply(guilty ? 2e-3 : 1e-3); }, errors::bad_call, {"rank 0", "0.001", "0.002"});
    if (!guilty) one_pass(online, samples, 1);
    expect_error([&] { guilty ? online.step(samples.inputs, samples.targets) : online.apply(); },
                 errors::bad_call, {"rank 0", "apply()", "step()"});
  }
  online.forward(samples.inputs, y);
  online.infer(samples.inputs, y);
  expect_error([&] { online.backward(y); }, errors::bad_call, {"infer()"});
  EXPECT_EQ(values_of_parameters(online), before);
  one_pass(online, samples, 1);
  const StepReport next = online.apply();
  EXPECT_TRUE(next.updated);
  EXPECT_EQ(next.step, 1u);
  EXPECT_TRUE(online.step(samples.inputs, samples.targets).updated);
}

TEST(OwnLossCalls, ASaveBetweenPassesDiscardsNothing) {
  OnlineTrainer saved(online_options(), MPI_COMM_WORLD, OnlineOptions{});
  OnlineTrainer plain(online_options(), MPI_COMM_WORLD, OnlineOptions{});
  int process = getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string file = testing::TempDir() + "mylos_own_save_" + std::to_string(process) + ".h5";
  const Samples samples(0, 0, most);
  const Matrix y("y", most, output_width);
  for (OnlineTrainer* online : {&saved, &plain}) {
    one_pass(*online, samples, 1);
    online->forward(samples.inputs, y);
    if (online == &saved) online->save(file);
    online->backward(y);
    EXPECT_TRUE(online->apply().updated);
  }
  expect_equal_states(saved, plain);
  saved.load(file);
  EXPECT_EQ(saved.apply().samples, 0);
  one_pass(saved, samples, 1);
  saved.load(file);  // discards the pass
  EXPECT_EQ(saved.apply().samples, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
}

TEST(OwnLossCalls, TheCallersLearningRateReplacesTheScheduleForOneStep) {
  Options options = online_options();
  options.optimizer.type = OptimizerType::sgd;
  options.optimizer.momentum = 0;
  options.optimizer.weight_decay = 0;
  options.optimizer.clip_norm = 0;
  OnlineTrainer online(options, MPI_COMM_WORLD, OnlineOptions{});
  const std::vector<float> start = values_of_parameters(online);
  one_pass(online, {0, 0, most}, 1);
  EXPECT_EQ(online.apply(0.0).lr, 0);
  EXPECT_EQ(values_of_parameters(online), start);
  one_pass(online, {0, 0, most}, 1);
  const StepReport own = online.apply(0.25);
  EXPECT_EQ(own.lr, 0.25);
  const double moved = largest_difference(values_of_parameters(online), start);
  for (std::size_t i = 0; i < start.size(); ++i) EXPECT_LE(moved, 0.25 * own.gradient_norm * 1.001);
  EXPECT_GT(moved, 0);
  one_pass(online, {0, 0, most}, 1);
  EXPECT_EQ(online.apply().lr, static_cast<double>(static_cast<float>(options.optimizer.lr)));
}

TEST(OwnLossCalls, OfNormalisationOverRanksNeedsTheSameCallsOnAllRanks) {
  OnlineTrainer built_in(batch_normalised_options(NormOver::ranks), MPI_COMM_WORLD);
  OnlineTrainer own(batch_normalised_options(NormOver::ranks), MPI_COMM_WORLD,
                    OnlineOptions{.reduction = LossReduction::mean});
  const int rank = rank_of(MPI_COMM_WORLD);
  for (std::uint64_t step = 1; step < 20; ++step) {
    if (all_of(size_of(MPI_COMM_WORLD), step).inputs.extent(0) == 1) continue;  // too few to normalise
    const Samples samples = share_of(rank, step);                               // none on some rank at times
    built_in.step(samples.inputs, samples.targets);
    one_pass(own, samples, 1.0f / output_width);
    own.apply();
  }
  expect_equal_states(built_in, own);

  const Samples samples(0, 0, 4);
  const Matrix y("y", 4, output_width);
  const bool guilty = rank == size_of(MPI_COMM_WORLD) - 1;
  expect_error([&] { own.forward(guilty ? Samples(0, 0, most + 1).inputs : samples.inputs, y); },
               errors::bad_call, {"17 samples"});
  if (size_of(MPI_COMM_WORLD) > 1) {
    expect_error([&] { guilty ? static_cast<void>(own.apply()) : own.forward(samples.inputs, y); },
                 errors::bad_call, {"1 apply()", "same calls"});
    own.forward(samples.inputs, y);
    expect_error([&] { guilty ? own.forward(samples.inputs, y) : own.backward(y); }, errors::bad_call,
                 {"1 forward()", "same calls"});
    own.backward(y);
    own.apply();
  }
  one_pass(own, samples, 1);
  EXPECT_TRUE(own.apply().updated);
}

}  // namespace mylos::own_loss_calls_test
