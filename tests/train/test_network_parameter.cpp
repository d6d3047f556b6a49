// The parameters of a network by name, read and written by the program.
#include <limits>

#include "train/own_loss.hpp"

namespace mylos::network_parameter_test {

using namespace online_support;    // NOLINT
using namespace own_loss_support;  // NOLINT

class ShardedParameters : public testing::TestWithParam<Shard> {};
INSTANTIATE_TEST_SUITE_P(Shards, ShardedParameters,
                         testing::Values(Shard::none, Shard::state, Shard::gradients), [](const auto& shard) {
                           return shard.param == Shard::none    ? "none"
                                  : shard.param == Shard::state ? "state"
                                                                : "gradients";
                         });

TEST_P(ShardedParameters, AreReadAndWrittenByName) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    Options options = online_options(type);
    options.optimizer.shard = GetParam();
    OnlineTrainer online(options, MPI_COMM_WORLD);
    OnlineTrainer plain(online_options(type), MPI_COMM_WORLD);
    const Samples samples(0, 0, most);
    for (OnlineTrainer* each : {&online, &plain}) each->step(samples.inputs, samples.targets);
    EXPECT_EQ(values_of_parameters(online), values_of_parameters(plain));

    const NetworkParameter weight = online.parameter("head/weight");
    EXPECT_EQ(weight.rows(), output_width);
    EXPECT_EQ(weight.columns(), 16);
    const Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> host("w", output_width, 16);
    weight.read(host);
    for (std::size_t i = 0; i < host.size(); ++i)
      host.data()[i] = rank_of(MPI_COMM_WORLD) == 0 ? 0.5f * host.data()[i] : 77;  // rank 0's count
    weight.write(host);
    const Kokkos::View<float*, Device> back("w", static_cast<std::size_t>(weight.size()));
    weight.read(back);
    plain.parameter("head/weight").write(back);
    // The compute weights follow on all ranks, and so do the next steps.
    EXPECT_EQ(values_of_parameters(online), values_of_parameters(plain));
    const Matrix y("y", most, output_width), z("z", most, output_width);
    online.infer(samples.inputs, y);
    plain.infer(samples.inputs, z);
    EXPECT_EQ(on_host_of(y), on_host_of(z));
    for (OnlineTrainer* each : {&online, &plain}) each->step(samples.inputs, samples.targets);
    EXPECT_EQ(values_of_parameters(online), values_of_parameters(plain));
  }
}

TEST(NetworkParameter, AParameterThatIsNotThereIsAnErrorThatListsTheNames) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  expect_error([&] { static_cast<void>(online.parameter("had/weight")); }, ErrorId::unknown_name,
               {"'had/weight'", "hidden1/weight, hidden1/bias", "head/weight"});
  const NetworkParameter bias = online.parameter("head/bias");
  const bool guilty = rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  const Kokkos::View<float*, Device> good("good", output_width), wrong("wrong", 7), nan("nan", output_width);
  expect_error([&] { bias.read(guilty ? wrong : good); }, ErrorId::bad_call,
               {"head/bias", "has 3 values", "7"});
  expect_error([&] { bias.write(guilty ? wrong : good); }, ErrorId::bad_call, {"head/bias", "7"});
  Kokkos::deep_copy(nan, std::numeric_limits<float>::quiet_NaN());
  expect_error([&] { bias.write(nan); }, ErrorId::bad_call, {"head/bias", "finite"});
  bias.write(good);
}

}  // namespace mylos::network_parameter_test
