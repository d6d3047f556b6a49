// Several networks, and several dropout masks, over the samples of a file.
#include "mylos/inference/ensemble/ensemble_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/builders.hpp"
#include "inference/networks.hpp"
#include "mylos/base/errors/command_line.hpp"
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
  options.model.loss = losses::Mse{};
  options.precision.compute = DType::fp32;
  return options;
}

/// Measured inputs, whose period is shorter than a batch, and targets that differ in every row.
void write_samples(const std::string& path) {
  std::vector<float> inputs;
  std::vector<float> numbers;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < columns; ++j) inputs.push_back(testing_support::measured(row, j));
    for (std::int64_t j = 1; j <= targets; ++j) numbers.push_back(static_cast<float>(targets * row + j));
  }
  auto file = hdf5::File::create(path);
  file.create_dataset("/inputs", DType::fp32, {rows, columns}).write(0, rows * columns, inputs.data());
  file.create_dataset("/targets", DType::fp32, {rows, targets}).write(0, rows * targets, numbers.data());
  file.close();
}

/// What a pass said of all samples, on every rank.
struct Said {
  explicit Said(std::int64_t count)
      : means(rows * targets),
        deviations(means),
        truth(means),
        members(static_cast<std::size_t>(count), means) {}

  /// Adds what the other ranks have: each number is 0 on all ranks but one.
  void add_up() {
    for (std::vector<float>* values : {&means, &deviations, &truth}) add_up(*values);
    for (std::vector<float>& values : members) add_up(values);
  }
  static void add_up(std::vector<float>& values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  bool operator==(const Said&) const = default;

  std::vector<float> means, deviations, truth;  // [rows, targets]
  std::vector<std::vector<float>> members;      // likewise
};

void put(const Share& samples, const std::vector<float>& values, std::vector<float>& to) {
  ASSERT_EQ(static_cast<std::int64_t>(values.size()), samples.count * targets);
  std::copy(values.begin(), values.end(), to.begin() + samples.first * targets);
}

class EnsemblePassTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks.rank() == 0) write_samples(table);
    ranks.barrier();
    for (int member = 0; member < 3; ++member) {
      const Options options = table_options();
      TrainingModel model(make_chain(options.model, options.precision, 1, false), *engines, 40, 1 << 20, 1);
      int seed = 40 + 10 * member;
      for (const ParameterSlot& slot : model.parameters().layout().slots)
        test::set_values(model.parameters().master(slot), test::drawn_values(slot.size(), ++seed, 1));
      const Normalizer normalizer{
          {{100, 110, 120}, {0.125, 0.125, 0.125}}, {{1, 2}, {0.25, 0.5}}, input_range};
      const std::string path = folder.path() + "/" + std::to_string(member) + ".h5";
      test::write_network(ranks, path, model, {.deck = resolve(options), .normalizer = normalizer});
      members.push_back({path});
    }
  }

  [[nodiscard]] static Said run(UncertainPass& pass) {
    Said said(pass.members());
    pass.run(
        [&](UncertainBatch& batch) {
          put(batch.samples, batch.mean, said.means);
          put(batch.samples, batch.deviation, said.deviations);
          put(batch.samples, batch.targets, said.truth);
        },
        [&](std::int64_t member, const Share& samples, std::vector<float>& values) {
          put(samples, values, said.members[static_cast<std::size_t>(member)]);
        });
    said.add_up();
    return said;
  }

  [[nodiscard]] OpenedNetwork open(const std::string& path) {
    return open_network(CheckpointReader(ranks, path), data);
  }

  // Column 0 goes from 100 to 115.75.
  const InputRange input_range{{100, 0, 0}, {114, 1000, 1000}};
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
  const OpenedNetwork first = open(members.front().path);
  EnsemblePass at_once(exec, *engines, ranks, members, first, data, DataPart::train);
  EnsemblePass in_blocks(exec, *engines, ranks, members, first, data, DataPart::train, 1);
  const Said expected = run(at_once);
  EXPECT_TRUE(run(in_blocks) == expected);
  ASSERT_EQ(expected.members.size(), 3);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {  // in the units of training
    ASSERT_EQ(expected.truth[row * targets], 0.5f * static_cast<float>(row));
    ASSERT_EQ(expected.truth[row * targets + 1], static_cast<float>(row));
  }
  for (std::size_t i = 0; i < expected.means.size(); i += 97) {
    double mean = 0;
    double square = 0;
    for (const std::vector<float>& member : expected.members) mean += static_cast<double>(member[i]) / 3;
    for (const std::vector<float>& member : expected.members)
      square += std::pow(static_cast<double>(member[i]) - mean, 2);
    EXPECT_FLOAT_EQ(expected.means[i], static_cast<float>(mean));
    EXPECT_FLOAT_EQ(expected.deviations[i], static_cast<float>(std::sqrt(square / 2)));
  }
}

TEST_F(EnsemblePassTest, CountsInputsOutsideTheRangeOnceForAllMembers) {
  const OpenedNetwork first = open(members.front().path);
  EnsemblePass pass(exec, *engines, ranks, {members[0], members[1]}, first, data, DataPart::train);
  static_cast<void>(run(pass));
  std::int64_t expected = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    expected += input_range.holds(testing_support::measured(row, 0), 0) ? 0 : 1;
  const OutsideRange own = pass.outside_range();
  std::vector<std::int64_t> found{own.values, own.samples};
  ranks.add_up(found);
  EXPECT_GT(expected, 0);
  EXPECT_EQ(found, (std::vector<std::int64_t>{expected, expected}));
}

TEST_F(EnsemblePassTest, MasksDependOnTheSeedThePassAndTheSampleAlone) {
  const auto masks = [&](std::uint64_t seed, std::int64_t count, std::int64_t piece) {
    const CheckpointReader reader(ranks, members.front().path);
    NetworkData seeded = data;
    seeded.seed = seed;
    const OpenedNetwork opened = open_network(reader, seeded);
    const auto model = load_model(reader, opened, *engines, false, piece);
    NetworkPasses pass({exec, *engines, model->passes()}, ranks, opened, *model, DataPart::train,
                       {.count = count, .drops = true});
    return run(pass).members;
  };
  const auto known = masks(7, 3, 1024);
  const auto other_batches = masks(7, 2, 100);
  const auto other_seed = masks(8, 2, 1024);
  std::size_t equal = 0;
  for (std::size_t pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < known[pass].size(); ++i) {
      ASSERT_NEAR(other_batches[pass][i], known[pass][i], 1e-4 * (1 + std::abs(known[pass][i]))) << i;
      if (other_seed[pass][i] == known[pass][i]) ++equal;  // units that no mask reaches are at 0
    }
  }
  EXPECT_LT(equal, known[0].size() * 2 * 9 / 10);
  EXPECT_NE(known[0], known[1]);
}

TEST_F(EnsemblePassTest, RefusesWhatIsNoEnsemble) {
  const auto refuses = [&](const std::vector<EnsembleMember>& given, ErrorId id, const std::string& part) {
    return test::refuses(ExitCode::bad_input, id, {part}, [&] { require_ensemble(ranks, given); });
  };
  EXPECT_TRUE(refuses({members[0]}, errors::missing_argument, "at least 2"));
  EXPECT_TRUE(refuses({members[0], members[1], members[0]}, errors::arguments_conflict, "given twice"));
}

}  // namespace mylos::ensemble_pass_test
