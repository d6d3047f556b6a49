// The parameters of a network by name, read and written by the program.
#include <limits>

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/device_views.hpp"
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

TEST(NetworkParameter, IsReadAndWrittenInTheTypesOfViews) {
  OnlineTrainer online(online_options(DType::bf16), MPI_COMM_WORLD);
  const NetworkParameter weight = online.parameter("head/weight");
  const auto count = static_cast<std::size_t>(weight.size());
  const Kokkos::View<float*, Device> floats("floats", count);
  const Kokkos::View<half*, Device> halves("halves", count);
  const Kokkos::View<bfloat16*, Kokkos::HostSpace> bfloats("bfloats", count);
  const Kokkos::View<double*, Kokkos::HostSpace> doubles("doubles", count);
  weight.read(floats);
  weight.read(halves);
  weight.read(bfloats);
  weight.read(doubles);
  const std::vector<float> expected = test::on_host(floats);
  const std::vector<half> rounded = test::on_host(halves);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(to_float(rounded[i]), test::rounded_to(DType::fp16, expected[i]));
    EXPECT_EQ(to_float(bfloats(i)), test::rounded_to(DType::bf16, expected[i]));
    EXPECT_EQ(doubles(i), double{expected[i]});
  }
  weight.write(bfloats);
  weight.read(doubles);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(doubles(i), double{to_float(bfloats(i))});
}

/// Descent by the program on the gradients that it reads: weights are those of optimizer.type = "sgd".
void expect_own_descent(LossReduction reduction, DType type, Shard shard) {
  constexpr float lr = 0.125f;
  Options options = online_options(type);
  options.optimizer.type = OptimizerType::sgd;
  options.optimizer.momentum = 0;
  options.optimizer.weight_decay = 0;
  options.optimizer.clip_norm = 0;
  options.optimizer.lr = lr;
  options.optimizer.shard = shard;
  options.schedule.type = ScheduleType::constant;
  OnlineTrainer own(options, MPI_COMM_WORLD, {.reduction = reduction});
  OnlineTrainer theirs(options, MPI_COMM_WORLD, {.reduction = reduction});
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const float factor = reduction == LossReduction::sum ? 0.01f : 1.0f / output_width;
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (OnlineTrainer* each : {&own, &theirs}) {
      // Two passes of a rank, and none of the last of several.
      for (int pass = 0; pass < (rank > 0 && rank == ranks - 1 ? 0 : 2); ++pass)
        one_pass(*each, Samples(2 * step + static_cast<std::uint64_t>(pass), rank * most, most), factor);
    }
    std::vector<std::vector<float>> gradients;
    for (const NetworkParameter& parameter : own.parameters()) {
      const Kokkos::View<float*, Kokkos::HostSpace> one("values", static_cast<std::size_t>(parameter.size()));
      parameter.read_gradient(one);
      gradients.emplace_back(one.data(), one.data() + one.size());
    }
    const bool is_updated = own.apply(0.0).updated;
    std::size_t next = 0;
    for (const NetworkParameter& parameter : own.parameters()) {
      if (!is_updated) break;
      const Kokkos::View<float*, Kokkos::HostSpace> one("values", static_cast<std::size_t>(parameter.size()));
      parameter.read(one);
      const std::vector<float>& gradient = gradients[next++];
      for (std::size_t i = 0; i < one.size(); ++i) one(i) -= lr * gradient[i];
      parameter.write(one);
    }
    EXPECT_EQ(theirs.apply(static_cast<double>(lr)).updated, is_updated);
    EXPECT_LT(largest_difference(values_of_parameters(own), values_of_parameters(theirs)),
              type == DType::fp32 ? 1e-6 : 5e-3);
  }
}

TEST(NetworkParameter, GradientsMoveWeightsAsTheTrainerDoes) {
  for (const LossReduction reduction : {LossReduction::sum, LossReduction::mean}) {
    expect_own_descent(reduction, DType::fp32, Shard::none);
    expect_own_descent(reduction, DType::bf16, Shard::state);
    expect_own_descent(reduction, DType::fp16, Shard::none);
  }
}

TEST(NetworkParameter, GradientsAreReadBetweenBackwardAndApply) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  const NetworkParameter bias = online.parameter("head/bias");
  const Kokkos::View<float*, Device> values("values", output_width), wrong("wrong", 7);
  expect_error([&] { bias.read_gradient(values); }, errors::bad_call, {"head/bias", "backward()"});
  one_pass(online, Samples(0, 0, most), 1);
  bias.read_gradient(values);
  expect_error([&] { bias.read_gradient(wrong); }, errors::bad_call, {"head/bias", "7"});
  online.apply();
  expect_error([&] { bias.read_gradient(values); }, errors::bad_call, {"head/bias", "backward()"});
  Options options = online_options();
  options.optimizer.shard = Shard::gradients;
  OnlineTrainer sharded(options, MPI_COMM_WORLD);
  one_pass(sharded, Samples(0, 0, most), 1);
  if (sharded.trainer().model().parameters().layout().cuts_gradients()) {
    const NetworkParameter other = sharded.parameter("head/bias");
    expect_error([&] { other.read_gradient(values); }, errors::bad_call, {"optimizer.shard"});
  }
  sharded.apply();
}

TEST(NetworkParameter, AParameterThatIsNotThereIsAnErrorThatListsTheNames) {
  OnlineTrainer online(online_options(), MPI_COMM_WORLD);
  expect_error([&] { static_cast<void>(online.parameter("had/weight")); }, errors::unknown_name,
               {"'had/weight'", "hidden1/weight, hidden1/bias", "head/weight"});
  const NetworkParameter bias = online.parameter("head/bias");
  const bool guilty = rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  const Kokkos::View<float*, Device> good("good", output_width), wrong("wrong", 7), nan("nan", output_width);
  expect_error([&] { bias.read(guilty ? wrong : good); }, errors::bad_call,
               {"head/bias", "has 3 values", "7"});
  expect_error([&] { bias.write(guilty ? wrong : good); }, errors::bad_call, {"head/bias", "7"});
  Kokkos::deep_copy(nan, std::numeric_limits<float>::quiet_NaN());
  expect_error([&] { bias.write(nan); }, errors::bad_call, {"head/bias", "finite"});
  bias.write(good);
}

}  // namespace mylos::network_parameter_test
