// The parts of a step with a program's own loss, as tests use them.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "mylos/train/start/run_state.hpp"
#include "train/online.hpp"

namespace mylos::own_loss_support {

/// All elements, on the host.
inline std::vector<float> on_host_of(const online_support::Matrix& view) {
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return {copy.data(), copy.data() + copy.size()};
}

/// dy = factor * (2 * (y - t)), the gradient of the sum of factor * (y - t)^2. Overwrites y. Returns the sum
/// over samples of the mean over outputs of (y - t)^2.
inline double seed_squares(const online_support::Matrix& y, const online_support::Matrix& t, float factor) {
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  const auto targets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), t);
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float error = values.data()[i] - targets.data()[i];
    squares += double{error} * double{error};
    values.data()[i] = factor * (2.0f * error);
  }
  Kokkos::deep_copy(y, values);
  return values.extent(1) == 0 ? 0 : squares / static_cast<double>(values.extent(1));
}

/// forward() and backward() for squared errors times `factor`. Returns as seed_squares().
inline double one_pass(OnlineTrainer& online, const online_support::Samples& samples, float factor) {
  const online_support::Matrix y("y", samples.targets.extent(0), samples.targets.extent(1));
  online.forward(samples.inputs, y);
  const double loss = seed_squares(y, samples.targets, factor);
  online.backward(y);
  return loss;
}

/// The values of all parameters. All ranks call it.
inline std::vector<float> values_of_parameters(OnlineTrainer& online) {
  std::vector<float> values;
  for (const NetworkParameter& parameter : online.parameters()) {
    const Kokkos::View<float*, Kokkos::HostSpace> one("values", static_cast<std::size_t>(parameter.size()));
    parameter.read(one);
    values.insert(values.end(), one.data(), one.data() + one.size());
  }
  return values;
}

/// Everything that a step changes, by its path in a checkpoint, as this rank holds it.
inline std::map<std::string, std::string> state_of(const OnlineTrainer& online) {
  auto& trainer = const_cast<Trainer&>(online.trainer());
  RunState run;
  run.step = trainer.read_state();
  std::map<std::string, std::string> state;
  for (const StateArray& array : full_state(trainer.quiesce(), trainer, run).arrays) {
    if (array.path.starts_with("/plan") || array.path.starts_with("/data")) continue;
    std::string& bytes = state[array.path];
    for (const StatePiece& piece : array.pieces) {
      std::string part(
          static_cast<std::size_t>(piece.count) * size_of(array.memory_type.value_or(array.type)), '\0');
      array.on_device ? test::copy_to_host(piece.data, part.data(), part.size())
                      : static_cast<void>(std::memcpy(part.data(), piece.data, part.size()));
      bytes += part;
    }
  }
  return state;
}

inline void expect_equal_states(const OnlineTrainer& a, const OnlineTrainer& b) {
  const auto first = state_of(a);
  const auto second = state_of(b);
  ASSERT_EQ(first.size(), second.size());
  std::size_t weights = 0;
  for (const auto& [path, bytes] : first) {
    EXPECT_TRUE(bytes == second.at(path)) << path;
    weights += path.starts_with("/model/") ? 1 : 0;
  }
  EXPECT_GT(weights, 0u);
}

}  // namespace mylos::own_loss_support
