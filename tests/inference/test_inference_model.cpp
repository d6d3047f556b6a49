// An inference model computes the bits of the training model, in the memory that it states.
#include "mylos/inference/inference_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "inference/networks.hpp"
#include "io/support.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"

namespace mylos::inference_model_test {

using test::SmallNetwork;

constexpr std::int64_t samples = 6;
constexpr DType types[] = {DType::fp32, DType::bf16, DType::fp16};

class InferenceModelTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<TrainingModel> trained_model(const SmallNetwork& network) {
    auto model = std::make_unique<TrainingModel>(network.chain(), *engines, samples, 1 << 20, 1);
    test::set_lively_state(*model);
    return model;
  }
  std::vector<std::byte> outputs_of(ForwardPass& pass, const Tensor& inputs) {
    const StepContext context{.exec = exec, .engines = *engines, .training = false};
    pass.forward(context, inputs);
    const ConstTensor outputs = pass.head_outputs(context, 0, inputs.rows());
    exec.fence();
    return test::bytes_of(outputs);
  }
  void expect_equal_outputs(InferenceModel& model, TrainingModel& trained, const std::string& name) {
    const test::SmallInputs inputs(model.chain(), samples);
    const auto expected = outputs_of(trained.evaluation(), inputs.tensor());
    EXPECT_TRUE(outputs_of(model.passes(), inputs.tensor()) == expected) << name;
  }
  /// Succeeds if the file is refused, with this id and part.
  ::testing::AssertionResult is_refused(InferenceModel& model, const std::string& path, ErrorId id,
                                        const std::string& part, bool average = false) {
    return test::refuses(ExitCode::bad_input, id, {part},
                         [&] { model.read(CheckpointReader(ranks, path), average); });
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
  std::unique_ptr<EngineSet> engines = make_engines({});
};

TEST_F(InferenceModelTest, CopiesGiveTheBitsOfTheTrainingModel) {
  for (const DType type : types) {
    for (const SmallNetwork& network : test::small_networks(type)) {
      const auto trained = trained_model(network);
      InferenceModel model(network.chain(), *engines, samples);
      model.copy(exec, *trained);
      expect_equal_outputs(model, *trained, fmt::format("{} in {}", network.name, name_of(type)));
    }
  }
}

TEST_F(InferenceModelTest, CheckpointsGiveTheBitsOfTheTrainingModel) {
  for (const DType type : types) {
    for (const SmallNetwork& network : test::small_networks(type)) {
      const auto trained = trained_model(network);
      test::write_network(ranks, file, *trained);
      InferenceModel model(network.chain(), *engines, samples);
      model.read(CheckpointReader(ranks, file));
      expect_equal_outputs(model, *trained, fmt::format("{} in {}", network.name, name_of(type)));
    }
  }
}

TEST_F(InferenceModelTest, ReadsTheAverageWhereItIsWanted) {
  const SmallNetwork network = test::small_networks(DType::bf16).front();
  const auto trained = trained_model(network);
  TrainingModel averaged(network.chain(), *engines, samples, 1 << 20, 1);
  averaged.parameters().initialize(exec, 11);
  exec.fence();
  test::write_network(ranks, file, *trained, {.average = &averaged.parameters()});
  InferenceModel model(network.chain(), *engines, samples);
  model.read(CheckpointReader(ranks, file), true);
  expect_equal_outputs(model, averaged, "average");
  model.read(CheckpointReader(ranks, file));
  expect_equal_outputs(model, *trained, "weights");
}

TEST_F(InferenceModelTest, AllocatesTheBytesThatItStates) {
  for (const DType type : types) {
    for (const SmallNetwork& network : test::small_networks(type)) {
      Chain chain = network.chain();
      const std::size_t stated = InferenceModel::memory(chain, *engines, samples).total();
      const testing_support::AllocationsByLabel allocations;
      {
        const InferenceModel model(chain, *engines, samples);
        EXPECT_EQ(testing_support::AllocationsByLabel::total(), stated) << network.name;
      }
      EXPECT_EQ(testing_support::AllocationsByLabel::total(), 0u);
    }
  }
}

TEST_F(InferenceModelTest, InferAllocatesTheBytesThatItStates) {
  for (const DType type : types) {
    SmallNetwork network{"", test::perceptron_options(), {}};
    network.precision.compute = type;
    const Chain chain = network.chain();
    const std::size_t stated = InferenceModel::memory(chain, *engines, samples).total();
    const testing_support::AllocationsByLabel allocations;
    InferenceModel model(chain, *engines, samples);
    static_cast<void>(test::outputs_of(exec, *engines, model, {}, test::drawn_values(10 * 6, 3)));
    EXPECT_EQ(testing_support::AllocationsByLabel::peak(),
              stated + RowInference::memory_bytes(chain, samples));
    EXPECT_EQ(testing_support::AllocationsByLabel::total(), stated);
  }
}

TEST_F(InferenceModelTest, ALargeGptTakesTwoBytesForEachParameter) {
  ModelOptions gpt2;
  gpt2.type = ModelType::gpt;
  gpt2.layers = gpt2.heads = 12;
  gpt2.width = 768;
  gpt2.context = 1024;
  gpt2.vocabulary = 50257;
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  const Chain chain = make_chain(gpt2, precision, 1, false);
  const InferenceBytes bytes = InferenceModel::memory(chain, *engines, 1);
  const auto parameters = static_cast<double>(chain.parameter_count());
  EXPECT_GT(parameters, 124e6);
  EXPECT_LT(static_cast<double>(bytes.weights + bytes.statistics), 1.01 * 2 * parameters);
}

/// Sets weights by which every sum is exact, whatever the order of its terms.
void set_exact_weights(TrainingModel& model) {
  int seed = 40;
  for (const ParameterSlot& slot : model.parameters().layout().slots)
    test::set_values(model.parameters().master(slot), test::drawn_values(slot.size(), ++seed, 1));
  model.parameters().refresh_compute_weights(Execution());
  Kokkos::fence();
}

TEST_F(InferenceModelTest, PiecesOfAnySizeGiveTheSameBits) {
  constexpr std::int64_t rows = 7;
  for (const DType type : types) {
    SmallNetwork network{"", test::perceptron_options(), {}};
    network.precision.compute = type;
    TrainingModel trained(network.chain(), *engines, samples, 1 << 20, 1);
    set_exact_weights(trained);
    const std::vector<float> inputs = test::drawn_values(rows * 6, 3);
    std::vector<float> expected;
    for (const std::int64_t piece : {7, 1, 2, 3, 6, 20}) {
      InferenceModel model(network.chain(), *engines, piece);
      model.copy(exec, trained);
      const std::vector<float> outputs = test::outputs_of(exec, *engines, model, {}, inputs);
      if (expected.empty()) expected = outputs;
      EXPECT_EQ(outputs, expected) << piece << " in " << name_of(type);
    }
    EXPECT_NE(expected, std::vector<float>(expected.size()));
  }
}

TEST_F(InferenceModelTest, ScalesInputsAndTargetsAsInTraining) {
  SmallNetwork network{"", test::perceptron_options(), {}};
  TrainingModel trained(network.chain(), *engines, samples, 1 << 20, 1);
  set_exact_weights(trained);
  const std::vector<double> shifts{1, 2, 3, 4, 5, 6};
  const Normalizer normalizer{{shifts, std::vector<double>(6, 0.5)}, {{1, 2, 3, 4}, {0.25, 0.25, 0.5, 2}}};
  test::write_network(ranks, file, trained, {.normalizer = normalizer});
  InferenceModel model(network.chain(), *engines, samples);
  const CheckpointReader reader(ranks, file);
  model.read(reader);
  const Normalizer stored = read_stored_data(reader).normalizer;
  EXPECT_EQ(stored, normalizer);

  const std::vector<float> scaled = test::drawn_values(samples * 6, 3);
  std::vector<float> inputs;
  for (std::size_t i = 0; i < scaled.size(); ++i)
    inputs.push_back(2 * scaled[i] + static_cast<float>(i % 6 + 1));
  InferenceModel unscaled(network.chain(), *engines, samples);
  unscaled.copy(exec, trained);
  std::vector<float> expected = test::outputs_of(exec, *engines, unscaled, {}, scaled);
  normalizer.undo_targets(expected);
  EXPECT_EQ(test::outputs_of(exec, *engines, model, stored, inputs), expected);
}

TEST_F(InferenceModelTest, RefusesFilesOfAnotherNetwork) {
  SmallNetwork network{"", test::perceptron_options(), {}};
  test::write_network(ranks, file, *trained_model(network));
  SmallNetwork wider = network;
  wider.model.hidden = {12, 9};
  InferenceModel other(wider.chain(), *engines, samples);
  EXPECT_TRUE(is_refused(other, file, errors::model_mismatch, "/model/hidden1/weight is [11, 6]"));
  SmallNetwork longer = network;
  longer.model.hidden = {11, 9, 9};
  InferenceModel deeper(longer.chain(), *engines, samples);
  EXPECT_TRUE(is_refused(deeper, file, errors::model_mismatch, "/model/hidden3/weight"));
  InferenceModel same(network.chain(), *engines, samples);
  EXPECT_TRUE(is_refused(same, file, errors::no_average, "/average", true));
  EXPECT_NO_THROW(same.read(CheckpointReader(ranks, file), false));
}

TEST_F(InferenceModelTest, RefusesADamagedFile) {
  const SmallNetwork network{"", test::perceptron_options(), {}};
  test::write_network(ranks, file, *trained_model(network));
  std::string bytes = testing_support::read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  testing_support::write_file(file, bytes);
  InferenceModel model(network.chain(), *engines, samples);
  EXPECT_TRUE(is_refused(model, file, errors::damaged, file));
}

TEST_F(InferenceModelTest, RefusesInputsThatDoNotFit) {
  const SmallNetwork network{"", test::perceptron_options(), {}};
  InferenceModel model(network.chain(), *engines, samples);
  const Normalizer normalizer;
  RowInference rows({exec, *engines, model.passes()}, normalizer);
  std::vector<float> outputs(4);
  EXPECT_THROW(rows.run(std::vector<float>(7), outputs), Error);
  EXPECT_THROW(rows.run(std::vector<float>(12), outputs), Error);
  InferenceModel tokens(test::small_networks(DType::fp32)[2].chain(), *engines, 1);
  EXPECT_THROW(
      RowInference({exec, *engines, tokens.passes()}, normalizer).run(std::vector<float>(5), outputs), Error);
  const auto trained = trained_model(network);
  EXPECT_THROW(tokens.copy(exec, *trained), Error);
}

}  // namespace mylos::inference_model_test
