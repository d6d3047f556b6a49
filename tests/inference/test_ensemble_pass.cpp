// Several networks, and several dropout masks, over the samples of a file.
#include "mylos/inference/ensemble/ensemble_pass.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/builders.hpp"
#include "inference/networks.hpp"
#include "mylos/inference/ensemble/network_passes.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/refusal.hpp"

namespace mylos::ensemble_pass_test {

constexpr std::int64_t columns = 3;
constexpr std::int64_t targets = 2;
constexpr std::int64_t rows = 2500;  // three batches

Options table_options() {
  Options options;
  options.run.steps = 10;
  options.model.inputs = columns;
  options.model.outputs = targets;
  options.model.hidden = {8};
  options.model.dropout = 0.25;
  options.model.loss = LossType::mse;
  options.precision.compute = DType::fp32;
  return options;
}

/// What a pass said, by the first sample of each batch.
struct Said {
  std::map<std::int64_t, std::vector<float>> means, deviations, targets;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<float>> members;

  bool operator==(const Said&) const = default;
};

class EnsemblePassTest : public testing::Test {
 protected:
  void SetUp() override {
    testing_support::write_table(table, rows, columns, targets);
    for (int member = 0; member < 3; ++member) {
      const Options options = table_options();
      TrainingModel model(make_chain(options.model, options.precision, 1, false), *engines, 40, 1 << 20, 1);
      int seed = 40 + 10 * member;
      for (const ParameterSlot& slot : model.parameters().layout().slots)
        test::set_values(model.parameters().master(slot), test::drawn_values(slot.size(), ++seed, 1));
      const Normalizer normalizer{{{100, 110, 120}, {0.125, 0.125, 0.125}}, {{1, 2}, {0.25, 0.5}}};
      const std::string path = folder.path() + "/" + std::to_string(member) + ".h5";
      test::write_network(ranks, path, model, {.deck = resolve(options), .normalizer = normalizer});
      members.push_back({path});
    }
  }

  [[nodiscard]] Said run(UncertainPass& pass) {
    Said said;
    pass.run(
        [&](UncertainBatch& batch) {
          if (batch.samples.count == 0) return;
          said.means[batch.samples.first] = batch.mean;
          said.deviations[batch.samples.first] = batch.deviation;
          said.targets[batch.samples.first] = batch.targets;
        },
        [&](std::int64_t member, const Share& samples, std::vector<float>& values) {
          if (samples.count > 0) said.members[{member, samples.first}] = values;
        });
    return said;
  }

  [[nodiscard]] TrainedNetwork open(const std::string& path) {
    const CheckpointReader reader(ranks, path);
    return open_trained_network(ranks, reader, data);
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string table = folder.path() + "/table.h5";
  std::vector<EnsembleMember> members;
  NetworkData data{.choose = [this](DataOptions& options) { choose_whole_file(options, table); }};
  std::unique_ptr<EngineSet> engines = make_engines({});
};

TEST_F(EnsemblePassTest, AnyDivisionOfTheSamplesGivesTheSameBits) {
  require_ensemble(ranks, members);
  const TrainedNetwork first = open(members.front().path);
  EnsemblePass at_once(exec, *engines, ranks, members, first, data, DataPart::train);
  EnsemblePass in_blocks(exec, *engines, ranks, members, first, data, DataPart::train, 1);
  const Said expected = run(at_once);
  EXPECT_EQ(run(in_blocks), expected);
  EXPECT_EQ(at_once.members(), 3);
  std::int64_t samples = 0;
  for (const auto& [sample, means] : expected.means) {
    samples += static_cast<std::int64_t>(means.size()) / targets;
    ASSERT_EQ(expected.targets.at(sample).size(), means.size());
    for (std::size_t i = 0; i < means.size(); i += 97) {
      double mean = 0;
      double square = 0;
      for (std::int64_t m = 0; m < 3; ++m)
        mean += static_cast<double>(expected.members.at({m, sample})[i]) / 3;
      for (std::int64_t m = 0; m < 3; ++m)
        square += std::pow(static_cast<double>(expected.members.at({m, sample})[i]) - mean, 2);
      EXPECT_FLOAT_EQ(means[i], static_cast<float>(mean));
      EXPECT_FLOAT_EQ(expected.deviations.at(sample)[i], static_cast<float>(std::sqrt(square / 2)));
    }
  }
  std::int64_t all = 0;
  MPI_Allreduce(&samples, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, rows);
}

TEST_F(EnsemblePassTest, MasksDependOnTheSeedThePassAndTheSampleAlone) {
  const auto masks = [&](std::uint64_t seed, std::int64_t count, std::int64_t piece) {
    const CheckpointReader reader(ranks, members.front().path);
    TrainedNetwork network = open_trained_network(ranks, reader, data);
    network.deck.options.run.seed = seed;
    const auto model = load_model(ranks, reader, network, *engines, false, piece);
    NetworkPasses pass({exec, *engines, model->passes()}, ranks, network, *model, DataPart::train,
                       {.count = count, .drops = true});
    std::map<std::pair<std::int64_t, std::int64_t>, float> first_target;  // of each pass and sample
    for (const auto& [place, values] : run(pass).members) {
      for (std::size_t i = 0; i < values.size(); i += targets)
        first_target[{place.first, place.second + static_cast<std::int64_t>(i) / targets}] = values[i];
    }
    return first_target;
  };
  const auto known = masks(7, 3, 1024);
  for (const auto& [place, value] : masks(7, 2, 100)) {
    const auto found = known.find(place);  // batches of another size are divided otherwise over ranks
    if (found == known.end()) continue;
    EXPECT_NEAR(found->second, value, 1e-4 * (1 + std::abs(value)));
  }
  std::int64_t equal = 0;
  std::int64_t compared = 0;
  for (const auto& [place, value] : masks(8, 1, 1024)) {
    ++compared;
    if (known.at(place) == value) ++equal;
  }
  EXPECT_LT(equal, compared / 2 + 1);
}

TEST_F(EnsemblePassTest, RefusesWhatIsNoEnsemble) {
  const auto refuses = [&](const std::vector<EnsembleMember>& given, ErrorId id, const std::string& part) {
    return test::refuses(ExitCode::bad_input, id, {part}, [&] { require_ensemble(ranks, given); });
  };
  EXPECT_TRUE(refuses({members[0]}, ErrorId::missing_argument, "at least 2"));
  EXPECT_TRUE(refuses({members[0], members[1], members[0]}, ErrorId::arguments_conflict, "given twice"));
}

}  // namespace mylos::ensemble_pass_test
