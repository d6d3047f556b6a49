// Rollouts of a small network: the same on any number of ranks, means over members, bytes of host memory, and
// the axes in which truth is read.
#include "mylos/inference/rollout/rollout.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/arrays/array_builders.hpp"
#include "inference/networks.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/allocation_counter.hpp"
#include "train/engines.hpp"

namespace mylos::rollout_test {

using testing_support::coded;

/// Levels of two channels whose energies differ from member to member; the truth is known but for the last
/// step of the last member.
class Waves final : public Trajectories {
 public:
  Waves(std::vector<std::int64_t> extents, std::int64_t members, std::int64_t steps)
      : layout_{.extents = std::move(extents),
                .channels = 2,
                .state = {1, 0},
                .adds_newest = {1, 1},
                .points_are_samples = true},
        members_(members),
        steps_(steps) {}

  [[nodiscard]] const LevelLayout& layout() const override { return layout_; }
  [[nodiscard]] std::int64_t members() const override { return members_; }
  void read_level(std::int64_t member, std::int64_t level, std::span<float> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(member, level, i);
  }
  [[nodiscard]] bool has_truth(std::int64_t member, std::int64_t step) const override {
    return member + 1 < members_ || step < steps_;
  }
  void read_truth(std::int64_t member, std::int64_t step, std::span<float> state) const override {
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = value(member, step, i ^ 1);
  }

 private:
  [[nodiscard]] static float value(std::int64_t member, std::int64_t level, std::size_t index) {
    return static_cast<float>(member + 1) *
           std::sin(0.7f * static_cast<float>(index) + static_cast<float>(level));
  }

  LevelLayout layout_;
  std::int64_t members_;
  std::int64_t steps_;
};

class RolloutTest : public testing::Test {
 protected:
  RolloutTest() {
    if (testing_support::has_tiles()) kernels.gemm = GemmChoice::tiles;  // oneDNN allocates at every call
    engines = make_engines(kernels);
    ModelOptions model;
    model.inputs = model.outputs = 2;
    model.hidden = {5};
    model.loss = losses::Mse{};
    PrecisionOptions precision;
    precision.compute = DType::fp32;
    trained.emplace(make_chain(model, precision, 1, false), *engines, rows, 1 << 20, 1);
    test::set_lively_weights(trained->parameters());
    networks[0] = &network.emplace(InferenceContext(exec, *engines, *trained), normalizer);
  }

  static constexpr std::int64_t rows = 16;
  Execution exec;
  KernelOptions kernels;
  Normalizer normalizer;
  std::unique_ptr<EngineSet> engines;
  std::optional<TrainingModel> trained;
  std::optional<RowInference> network;
  RowInference* networks[1] = {};
  RankGroup ranks{MPI_COMM_WORLD, 60};
  RankGroup alone;
};

TEST_F(RolloutTest, AnyNumberOfRanksFindsTheSame) {
  constexpr std::int64_t steps = 3;
  const Waves data({3, 4}, 5, steps);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<float>> states, states_of_all;
  const auto request = [&](auto& to) {
    return RolloutRequest{.steps = steps,
                          .members_at_once = 2,
                          .has_spectrum = true,
                          .take = [&](std::int64_t member, std::int64_t step, std::span<const float> state) {
                            to[{member, step}].assign(state.begin(), state.end());
                          }};
  };
  const RolloutResult expected = roll_out(networks, alone, data, request(states));
  const RolloutResult found = roll_out(networks, ranks, data, request(states_of_all));
  EXPECT_EQ(std::ssize(states), 5 * (steps + 1));
  EXPECT_EQ(states_of_all.empty(), ranks.rank() != 0);
  for (const auto& [index, state] : states_of_all) EXPECT_EQ(state, states[index]);
  for (std::int64_t step = 1; step <= steps; ++step) {
    double drift = 0;
    for (std::int64_t member = 0; member < 5; ++member) {
      EXPECT_EQ(found.at(member, step).energy, expected.at(member, step).energy);
      const double nrmse = expected.at(member, step).network.nrmse;
      EXPECT_EQ(std::isnan(nrmse), !data.has_truth(member, step));
      EXPECT_TRUE(found.at(member, step).network.nrmse == nrmse || std::isnan(nrmse));
      drift += field_energy(states[{member, step}], 2) / field_energy(states[{member, 0}], 2) - 1;
    }
    EXPECT_NEAR(found.mean(step).energy_drift, drift / 5, 1e-12 * std::abs(drift)) << "the mean over members";
  }
  if (ranks.rank() != 0) return;
  ASSERT_EQ(std::ssize(found.spectrum), steps + 1);
  FieldSpectrum spectrum({3, 4});
  for (std::int64_t step = 0; step <= steps; ++step) {
    const StepSpectrum& of = found.spectrum[static_cast<std::size_t>(step)];
    EXPECT_EQ(of.truth.empty(), step == steps) << "known for every member before the last step";
    std::vector<double> energy(of.network.size());
    for (std::int64_t member = 0; member < 5; ++member)
      for (std::int64_t channel = 0; channel < 2; ++channel)
        spectrum.add(states[{member, step}], 2, channel, energy);
    for (std::size_t k = 0; k < energy.size(); ++k)
      EXPECT_NEAR(of.network[k], energy[k] / 5, 1e-12 * energy[k]);
  }
}

TEST_F(RolloutTest, TakesNoMoreBytesThanItStates) {
  constexpr std::int64_t members = 6;
  const Waves data({64, 32}, members, 4);
  const StartNoise noise(0.1, normalizer.inputs, 1);
  const RolloutRequest plain{.steps = 4, .members_at_once = 5, .has_spectrum = true, .take = {}};
  RolloutRequest ensemble = plain;
  ensemble.copies = 3;
  ensemble.noise = &noise;
  ensemble.has_scores = true;
  for (const RolloutRequest& request : {plain, ensemble}) {
    const auto run = [&] { static_cast<void>(roll_out(networks, alone, data, request)); };
    run();  // what libraries keep from their first call on
    const long before = testing_support::peak_bytes_from_now();
    run();
    const auto taken = static_cast<double>(testing_support::peak_bytes() - before);
    const auto stated = static_cast<double>(rollout_bytes(data.layout(), request, members));
    EXPECT_LE(taken, stated);
    EXPECT_GE(taken, 0.9 * stated);
  }
}

TEST(StoredTrajectories, ReadTruthInTheAxesOfEachArray) {
  const testing_support::TemporaryFolder folder;
  for (const int wide : {4, 3}) {  // of a square a transposed field has the same extents
    const std::string path = testing_support::write_arrays(
        folder / "a.h5", fmt::format("f['u'] = code(3, 4, {0}); f['v'] = code(3, {0}, 4)", wide));
    ArrayOptions options;
    options.inputs = {"/u", "/v"};
    options.targets = {"/v"};
    options.axes_of = {{"/u", {"time", "y", "x"}}, {"/v", {"time", "x", "y"}}};
    const auto open = [&](LevelsOf of) {
      return std::make_shared<const StoredLevels>(std::vector{path}, options, of);
    };
    const auto truth = open(LevelsOf::targets);
    EXPECT_EQ(truth->store().grid(), (std::vector<std::int64_t>{4, wide, 1}));
    const StoredTrajectories data(options, open(LevelsOf::inputs), truth, {{0, 1}});
    std::vector<float> level(static_cast<std::size_t>(data.layout().level_values()));
    std::vector<float> state(static_cast<std::size_t>(data.layout().state_values()));
    ASSERT_EQ(2 * state.size(), level.size());
    ASSERT_TRUE(data.has_truth(0, 1));
    data.read_level(0, 1, level);
    data.read_truth(0, 1, state);
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < wide; ++x) {
        const auto point = static_cast<std::size_t>(y * wide + x);
        EXPECT_EQ(level[2 * point], coded(2, y, x));
        EXPECT_EQ(level[2 * point + 1], coded(2, x, y));
        EXPECT_EQ(state[point], coded(2, x, y));
      }
    }
  }
}

}  // namespace mylos::rollout_test
