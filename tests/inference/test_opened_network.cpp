// From a checkpoint and a data file to predictions.
#include "mylos/inference/opened_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "data/builders.hpp"
#include "inference/networks.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/refusal.hpp"

namespace mylos::opened_network_test {

using testing::HasSubstr;

constexpr std::int64_t columns = 3;
constexpr std::int64_t targets = 2;
constexpr std::int64_t rows = 40;

Options table_options() {
  Options options;
  options.run.steps = 10;
  options.model.inputs = columns;
  options.model.outputs = targets;
  options.model.hidden = {8};
  options.model.loss = losses::Mse{};
  options.precision.compute = DType::bf16;
  return options;
}

/// The checkpoint of a network of table_options() and a file of samples for it.
class OpenedNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    const Options options = table_options();
    TrainingModel model(make_chain(options.model, options.precision, 1, false), *engines, rows, 1 << 20, 1);
    int seed = 40;
    for (const ParameterSlot& slot : model.parameters().layout().slots)
      test::set_values(model.parameters().master(slot), test::drawn_values(slot.size(), ++seed, 1));
    const Normalizer normalizer{
        {{100, 110, 120}, {0.125, 0.125, 0.125}}, {{1, 2}, {0.25, 0.5}}, {{100, 110, 120}, {110, 120, 130}}};
    test::write_network(ranks, checkpoint, model, {.deck = resolve(options), .normalizer = normalizer});
    testing_support::write_table(table, rows, columns, targets);
  }
  [[nodiscard]] NetworkData whole(const std::string& file) const {
    return {.choose = [file](DataOptions& data) { choose_whole_file(data, file); }};
  }
  /// Succeeds if the data are refused, with this id and part.
  [[nodiscard]] ::testing::AssertionResult is_refused(const NetworkData& data, ErrorId id,
                                                      const std::string& part) {
    return test::refuses(ExitCode::bad_input, id, {part}, [&] {
      const CheckpointReader reader(ranks, checkpoint);
      static_cast<void>(open_network(reader, data));
    });
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string checkpoint = folder.path() + "/network.h5";
  std::string table = folder.path() + "/table.h5";
  std::unique_ptr<EngineSet> engines = make_engines({});
};

TEST_F(OpenedNetworkTest, PredictsTheSamplesOfAFile) {
  const CheckpointReader reader(ranks, checkpoint);
  const OpenedNetwork opened = open_network(reader, whole(table));
  const StoredNetwork& network = opened.network;
  EXPECT_EQ(network.step, 3);
  EXPECT_EQ(network.known_classes(), 0);
  const auto model = load_model(reader, opened, *engines, false);
  EXPECT_EQ(model->samples(), rows);
  const auto pass = opened.pass_over(DataPart::train, *model, ranks);
  std::vector<float> found(rows * targets);
  predict({exec, *engines, model->passes()}, ranks, *pass,
          [&](const Share& samples, std::span<float> outputs) {
            interpret_outputs(model->chain().prediction(), targets, network.training.normalizer, outputs);
            std::copy(outputs.begin(), outputs.end(), found.begin() + samples.first * targets);
          });
  EXPECT_THAT(describe_outside(ranks, opened, *pass, DataPart::train), HasSubstr("outside the range"));

  std::vector<float> inputs;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) inputs.push_back(testing_support::measured(i, j));
  }
  EXPECT_EQ(found, test::outputs_of(exec, *engines, *model, network.training.normalizer, inputs));
}

TEST_F(OpenedNetworkTest, RefusesDataOfAnotherWidth) {
  const std::string wide = folder.path() + "/wide.h5";
  testing_support::write_table(wide, rows, columns + 1, targets);
  EXPECT_TRUE(is_refused(whole(wide), errors::data_mismatch,
                         "4 inputs per sample, but " + checkpoint + " was trained on 3"));
  testing_support::write_table(wide, rows, columns, targets + 1);
  EXPECT_TRUE(is_refused(whole(wide), errors::data_mismatch, "3 targets per sample"));
}

TEST_F(OpenedNetworkTest, IsNotReadAsANetworkOfTokens) {
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::wrong_format, {checkpoint, "`mylos predict`"}, [&] {
    static_cast<void>(read_stored_network(CheckpointReader(ranks, checkpoint), NetworkKinds::tokens));
  }));
}

TEST_F(OpenedNetworkTest, TheCheckOfTheCallerRefusesBeforeMemoryIsTaken) {
  NetworkData data = whole(table);
  data.check = [](const OpenedNetwork& opened) {
    fail_input(errors::arguments_conflict, "{} is not wanted", opened.network.path);
  };
  EXPECT_TRUE(is_refused(data, errors::arguments_conflict, checkpoint + " is not wanted"));
}

TEST(Predict, InterpretsOutputsByTheLoss) {
  const Normalizer normalizer{{}, {{1, 2}, {0.5, 0.25}}};
  std::vector<float> values{1, -1, 0, 0};
  interpret_outputs(Prediction::numbers, 2, normalizer, values);
  EXPECT_EQ(values, (std::vector<float>{3, -2, 1, 2}));
  values = {0, std::numeric_limits<float>::infinity()};
  interpret_outputs(Prediction::probabilities, 2, normalizer, values);
  EXPECT_EQ(values, (std::vector<float>{0.5f, std::numeric_limits<float>::infinity()}));
  values = {5, 5, -3, 1000};
  interpret_outputs(Prediction::classes, 2, normalizer, values);
  EXPECT_EQ(values, (std::vector<float>{0.5f, 0.5f, 0, 1}));
}

TEST(Predict, CountsOutputsThatAreNotFiniteInAnyOrderOfPieces) {
  const float nan = std::nanf("");
  NonFinite found;
  found.count(10, std::vector<float>{1, 2, nan, nan}, 2);
  found.count(2, std::vector<float>{1, nan, 3, 4}, 2);
  EXPECT_EQ(found.outputs, 3);
  EXPECT_EQ(found.rows, 2);
  EXPECT_EQ(found.first_row, 2);
  EXPECT_EQ(found.first_column, 1);
}

}  // namespace mylos::opened_network_test
