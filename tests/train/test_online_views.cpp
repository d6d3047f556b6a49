// Views of doubles, dropout that differs between ranks and passes, and a call within a call.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "mylos/base/errors/calls.hpp"
#include "train/own_loss.hpp"

namespace mylos::online_views_test {

using namespace online_support;    // NOLINT
using namespace own_loss_support;  // NOLINT

using Doubles = Kokkos::View<double**, Kokkos::LayoutRight, Device>;

/// The same numbers, which doubles hold exactly.
Doubles doubles_of(const Matrix& floats) {
  const Doubles doubles("doubles", floats.extent(0), floats.extent(1));
  const auto from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), floats);
  const auto to = Kokkos::create_mirror_view(doubles);
  for (std::size_t i = 0; i < from.size(); ++i) to.data()[i] = static_cast<double>(from.data()[i]);
  Kokkos::deep_copy(doubles, to);
  return doubles;
}

std::vector<float> floats_of(const Doubles& doubles) {
  const auto from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), doubles);
  std::vector<float> floats;
  for (std::size_t i = 0; i < from.size(); ++i) floats.push_back(static_cast<float>(from.data()[i]));
  return floats;
}

TEST(OnlineViews, OfDoublesTrainAsFloatsDo) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    const OnlineOptions own{.input_gradients = true};
    OnlineTrainer floats(online_options(type), MPI_COMM_WORLD, own);
    OnlineTrainer doubles(online_options(type), MPI_COMM_WORLD, own);
    const int rank = rank_of(MPI_COMM_WORLD);
    for (std::uint64_t step = 0; step < 4; ++step) {
      const Samples samples = share_of(rank, step);
      const StepReport a = floats.step(samples.inputs, samples.targets);
      const StepReport b = doubles.step(doubles_of(samples.inputs), doubles_of(samples.targets));
      EXPECT_EQ(a.loss, b.loss);
    }
    const Samples samples(9, 0, most);
    const Matrix y("y", most, output_width), dx("dx", most, input_width);
    const Doubles wide_y("y", most, output_width), wide_dx("dx", most, input_width);
    floats.forward(samples.inputs, y);
    doubles.forward(doubles_of(samples.inputs), wide_y);
    EXPECT_EQ(floats_of(wide_y), on_host_of(y));
    floats.backward(y, dx);
    doubles.backward(wide_y, wide_dx);
    EXPECT_EQ(floats_of(wide_dx), on_host_of(dx));
    floats.forward(samples.inputs, y);
    doubles.forward(doubles_of(samples.inputs), wide_y);
    floats.backward(y);
    doubles.backward(wide_y);
    floats.apply();
    doubles.apply();
    floats.infer(samples.inputs, y);
    doubles.infer(doubles_of(samples.inputs), wide_y);
    EXPECT_EQ(floats_of(wide_y), on_host_of(y));
    expect_equal_states(floats, doubles);
  }
}

TEST(OnlineViews, OfDoublesThatDoNotFitOnOneRankAreAnErrorOnAll) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  const bool guilty = rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  const Samples good(0, 0, most);
  const Doubles inputs = doubles_of(good.inputs);
  const Doubles wrong("wrong", most, 7);
  expect_error([&] { online.step(inputs, guilty ? wrong : doubles_of(good.targets)); }, errors::bad_call,
               {"targets", "7"});
  EXPECT_EQ(online.step(inputs, doubles_of(good.targets)).step, 1u);
}

/// The outputs of a training pass over the same rows on every rank.
std::vector<float> outputs_of_pass(OnlineTrainer& online, const Samples& samples) {
  const Matrix y("y", most, output_width);
  online.forward(samples.inputs, y);
  const std::vector<float> outputs = on_host_of(y);
  online.backward(y);
  return outputs;
}

TEST(OnlineViews, OfEqualRowsDropOtherUnitsOnOtherRanksAndInOtherPasses) {
  Options options = online_options();
  options.model.dropout = 0.5;
  OnlineTrainer online(options, MPI_COMM_WORLD);
  const Samples samples(0, 0, most);
  const std::vector<float> first = outputs_of_pass(online, samples);
  EXPECT_NE(outputs_of_pass(online, samples), first);
  online.apply(0.0);

  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  std::vector<float> all(ranks * first.size());
  const auto count = static_cast<int>(first.size());
  MPI_Allgather(first.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    EXPECT_FALSE(std::equal(first.begin(), first.end(), &all[rank * first.size()]) &&
                 rank != static_cast<std::size_t>(rank_of(MPI_COMM_WORLD)))
        << rank;
}

TEST(OnlineViews, ACallFromItsOwnMessageIsAnError) {
  OnlineTrainer* itself = nullptr;
  testing::AssertionResult is_refused = testing::AssertionSuccess();
  Options options = online_options(DType::bf16);
  OnlineTrainer with(options, MPI_COMM_SELF);
  const std::string file = testing::TempDir() + "mylos_own_message_" + std::to_string(getpid());
  with.save(file);
  options.precision.masters = MasterWeights::none;  // load() then says that masters are rounded
  int messages = 0;
  OnlineTrainer online(options, MPI_COMM_SELF, [&](const std::string&) {
    if (itself == nullptr) return;
    ++messages;
    is_refused = test::refuses(ExitCode::failed, errors::bad_call, {"OnlineTrainer::save", "another call"},
                               [&] { itself->save(file); });
  });
  itself = &online;
  online.load(file);
  EXPECT_EQ(messages, 1);
  EXPECT_TRUE(is_refused);
  std::remove(file.c_str());
}

}  // namespace mylos::online_views_test
