// A model file gives the bits of its checkpoint, and holds nothing of the run besides what inference reads.
#include "mylos/inference/model_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "inference/networks.hpp"
#include "io/support.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/inference/opened_network.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"

namespace mylos::model_file_test {

using test::SmallNetwork;
using testing::HasSubstr;

constexpr std::int64_t samples = 6;
constexpr DType types[] = {DType::fp32, DType::bf16, DType::fp16};

class ModelFile : public testing::Test {
 protected:
  static std::string deck_of(const SmallNetwork& network) {
    Options options;
    options.run.name = "tiny";
    options.run.steps = 5;
    options.model = network.model;
    options.precision = network.precision;
    options.data.train = "nowhere.h5";  // a deck without sizes leaves them to its data
    if (options.model.type == ModelType::gpt && options.model.norm == NormType::none)
      options.model.norm = NormType::layernorm;  // the same, as a deck says it
    return resolve(options);
  }
  std::unique_ptr<TrainingModel> write(const SmallNetwork& network, test::StoredBeside beside = {}) {
    auto trained = std::make_unique<TrainingModel>(network.chain(), *engines, samples, 1 << 20, 1);
    test::set_lively_state(*trained);
    for (const ParameterSlot& slot : trained->parameters().layout().slots) {  // with digits that 16 bits lack
      std::vector<float> values = test::values_of(trained->parameters().master(slot));
      for (float& value : values) value *= 1.0371f;
      test::set_values(trained->parameters().master(slot), values);
    }
    if (beside.deck.empty()) beside.deck = deck_of(network);
    test::write_network(ranks, checkpoint, *trained, beside);
    return trained;
  }
  WrittenModel export_model(const ModelFileOptions& options = {}) {
    return write_model_file(CheckpointReader(ranks, checkpoint), file, options);
  }
  [[nodiscard]] CheckpointReader open_model() { return {ranks, file, ReadableKinds::all}; }
  /// Returns the outputs of the network that the file describes, read from it.
  std::vector<std::byte> outputs_of(const std::string& path, std::optional<DType> compute = std::nullopt,
                                    bool average = false) {
    const CheckpointReader reader(ranks, path, ReadableKinds::all);
    Options options = read_stored_network(reader, NetworkKinds::numbers_and_tokens).options;
    if (compute) options.precision.compute = *compute;
    InferenceModel model(make_chain(options.model, options.precision, 9, false), *engines, samples);
    model.read(reader, average);
    const test::SmallInputs inputs(model.chain(), samples);
    const StepContext context{.exec = exec, .engines = *engines, .training = false};
    model.passes().forward(context, inputs.tensor());
    const ConstTensor outputs = model.passes().head_outputs(context, 0, inputs.tensor().rows());
    exec.fence();
    return test::bytes_of(outputs);
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string checkpoint = folder.path() + "/step-0000000003.h5";
  std::string file = folder.path() + "/model.h5";
  std::unique_ptr<EngineSet> engines = make_engines({});
};

TEST_F(ModelFile, GivesTheBitsOfItsCheckpoint) {
  for (const DType type : types) {
    for (const SmallNetwork& network : test::small_networks(type)) {
      write(network);
      EXPECT_EQ(export_model().type, type);
      EXPECT_TRUE(outputs_of(file) == outputs_of(checkpoint)) << network.name << " in " << name_of(type);
    }
  }
}

TEST_F(ModelFile, OfAnotherTypeGivesTheBitsOfTheCheckpointInThatType) {
  for (const DType from : types) {
    for (const SmallNetwork& network : test::small_networks(from)) {
      if (network.precision.masters == MasterWeights::none) continue;
      write(network);
      for (const DType to : types) {
        EXPECT_EQ(export_model({.type = to}).type, to);
        EXPECT_TRUE(outputs_of(file) == outputs_of(checkpoint, to))
            << network.name << " from " << name_of(from) << " to " << name_of(to);
      }
    }
  }
}

TEST_F(ModelFile, OfARunWithoutMastersMayBeFloat) {
  const SmallNetwork network = test::small_networks(DType::bf16).back();
  ASSERT_EQ(network.precision.masters, MasterWeights::none);
  write(network);
  export_model({.type = DType::fp32});
  EXPECT_FALSE(outputs_of(file) == outputs_of(checkpoint));
  EXPECT_EQ(read_stored_network(open_model(), NetworkKinds::numbers_and_tokens).options.precision.compute,
            DType::fp32);
}

TEST_F(ModelFile, HoldsEachWeightInTheTypeOfItsLayer) {
  for (const auto& [name, matrix, shared] : {std::tuple{"GPT", DType::fp16, DType::fp16},
                                             std::tuple{"GPT with a float head", DType::fp16, DType::fp32}}) {
    for (const SmallNetwork& network : test::small_networks(DType::fp16)) {
      if (network.name != name) continue;
      write(network);
      const WrittenModel written = export_model();
      const hdf5::File found = hdf5::File::open(file);
      std::int64_t bytes = 0;
      for (const hdf5::Child& layer : found.children("/model")) {
        for (const hdf5::Child& parameter : found.children("/model/" + layer.name)) {
          const auto dataset = found.dataset("/model/" + layer.name + "/" + parameter.name);
          const bool is_shared = layer.name + "/" + parameter.name == "embedding/token";
          const bool is_of_head = layer.name == "head";
          EXPECT_EQ(dataset.type(), is_shared || is_of_head ? shared : matrix) << dataset.path();
          bytes += dataset.size() * static_cast<std::int64_t>(size_of(*dataset.type()));
        }
      }
      EXPECT_EQ(written.weight_bytes, bytes);
      EXPECT_EQ(written.weights, network.chain().parameter_count());
    }
  }
}

TEST_F(ModelFile, HoldsTheDataOfTheCheckpointAndNothingOfTheOptimizer) {
  const SmallNetwork network{"", test::perceptron_options(), {}};
  const Normalizer normalizer{{{1, 2, 3, 4, 5, 6}, {1, 1, 1, 0.5, 0.5, 0}},
                              {{1, 2, 3, 4}, {0.25, 0.25, 0.5, 2}},
                              {{0, 0, 0, 0, 0, -1}, {1, 1, 1, 1, 1, 1e300}}};
  write(network, {.normalizer = normalizer});
  export_model();
  const CheckpointReader reader = open_model();
  EXPECT_EQ(reader.header().kind, FileKind::model);
  EXPECT_EQ(reader.header().step, 3);
  const StoredNetwork read = read_stored_network(reader);
  EXPECT_EQ(read.training.normalizer, normalizer);
  EXPECT_EQ(reader.text("/data/identity"), "synthetic");
  EXPECT_EQ(reader.text("/provenance/run"), "tiny");
  EXPECT_EQ(reader.text("/provenance/checkpoint"), "step-0000000003.h5");
  EXPECT_EQ(reader.text("/provenance/weights"), "current");
  EXPECT_EQ(reader.text("/provenance/compute"), "bf16");
  for (const char* group : {"/optimizer", "/average", "/scaler", "/schedule", "/history", "/plan", "/random"})
    EXPECT_FALSE(reader.exists(group)) << group;
}

TEST_F(ModelFile, HoldsTheAverageWhereItIsWanted) {
  const SmallNetwork network = test::small_networks(DType::bf16).front();
  TrainingModel averaged(network.chain(), *engines, samples, 1 << 20, 1);
  averaged.parameters().initialize(exec, 11);
  exec.fence();
  write(network, {.average = &averaged.parameters()});
  export_model({.weights = StoredWeights::average});
  EXPECT_TRUE(outputs_of(file) == outputs_of(checkpoint, std::nullopt, true));
  EXPECT_FALSE(outputs_of(file) == outputs_of(checkpoint));
  EXPECT_EQ(open_model().text("/provenance/weights"), "average");
  write(network);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::no_average, {checkpoint},
                            [&] { export_model({.weights = StoredWeights::average}); }));
}

TEST_F(ModelFile, StatesTheSizesThatTheDeckLeavesToTheData) {
  SmallNetwork perceptron{"", test::perceptron_options(), {}};
  SmallNetwork chain{"", test::statistics_options(), {}};
  chain.model.chain.front().repeat = 2;
  for (SmallNetwork network : {perceptron, chain}) {
    SmallNetwork open = network;
    open.model.inputs = open.model.outputs = 0;
    write(network, {.deck = deck_of(open)});
    const StoredNetwork of_checkpoint = read_stored_network(CheckpointReader(ranks, checkpoint));
    EXPECT_EQ(of_checkpoint.options.model.inputs, network.model.inputs);
    EXPECT_EQ(of_checkpoint.output_shape, std::vector{network.model.outputs});
    export_model();
    const Options deck = read_stored_deck(open_model().header().deck, file).options;
    EXPECT_EQ(deck.model.inputs, network.model.inputs);
    EXPECT_EQ(deck.model.outputs, network.model.outputs);
    EXPECT_TRUE(outputs_of(file) == outputs_of(checkpoint));
  }
}

TEST_F(ModelFile, AWeightThatTheTypeCannotHoldIsRefusedAndTheOldFileStays) {
  const SmallNetwork network{"", test::perceptron_options(), {}};
  const auto trained = write(network);
  export_model();
  const std::string before = testing_support::read_file(file);
  const ParameterSlot& last = trained->parameters().layout().slots.back();
  std::vector<float> values(static_cast<std::size_t>(last.size()), 1.0f);
  values.back() = 65520;  // rounds to infinity in fp16
  test::set_values(trained->parameters().master(last), values);
  exec.fence();
  test::write_network(ranks, checkpoint, *trained, {.deck = deck_of(network)});
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_finite,
                            {checkpoint, last.path(), "65520", "fp16"},
                            [&] { export_model({.type = DType::fp16}); }));
  EXPECT_EQ(testing_support::read_file(file), before);
  EXPECT_FALSE(std::filesystem::exists(file + ".tmp"));
  EXPECT_NO_THROW(export_model({.type = DType::bf16}));
}

TEST_F(ModelFile, ACheckpointThatContradictsItsDeckIsRefused) {
  SmallNetwork network{"", test::perceptron_options(), {}};
  SmallNetwork deeper = network;
  deeper.model.hidden = {11, 9, 9};
  write(network, {.deck = deck_of(deeper)});
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::model_mismatch, {"/model/hidden3/weight"},
                            [&] { export_model(); }));
  SmallNetwork narrower = network;
  narrower.model.hidden = {11};
  write(network, {.deck = deck_of(narrower)});
  EXPECT_TRUE(
      test::refuses(ExitCode::bad_input, errors::model_mismatch, {checkpoint}, [&] { export_model(); }));
  write(network, {.normalizer = {{{1, 2}, {1, 1}}, {}}});
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::damaged, {"/data/normalization/inputs"},
                            [&] { export_model(); }));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(ModelFile, PassesThroughAFewMiBOfMemory) {
  SmallNetwork network{"", test::perceptron_options(), {}};
  network.model.hidden = {3000, 3000};
  write(network);
  const long before = testing_support::peak_bytes_from_now();
  export_model({.type = DType::fp32});
  EXPECT_LT(testing_support::peak_bytes() - before, 16 << 20);
  EXPECT_GT(std::filesystem::file_size(file), 36e6);
  EXPECT_TRUE(outputs_of(file) == outputs_of(checkpoint, DType::fp32));
}

}  // namespace mylos::model_file_test
