// A run that begins with the weights of a file, on any number of ranks and however its masters are cut.
#include "mylos/train/start/initial_weights.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/start/run_state.hpp"
#include "support/refusal.hpp"
#include "train/synthetic.hpp"

namespace mylos::initial_weights_test {

using namespace testing_support;  // NOLINT

/// A number for each element that no two parameters share, some that 16 bits do not hold.
float number_at(const std::string& path, std::int64_t element) {
  return static_cast<float>(path.size() % 7 + 1) + static_cast<float>(element) * 0.001953125f + 1e-4f;
}

std::vector<float> numbers_of(const ParameterSlot& slot) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < slot.size(); ++i) values.push_back(number_at(slot.path(), i));
  return values;
}

ParameterLayout layout_of(const Options& options) {
  return make_parameter_layout(make_chain(options.model, options.precision, 1, false), 0, 1);
}

std::string name_in_tensors(std::string path) {
  path[path.rfind('/')] = '.';
  return path;
}

/// By rank 0: every parameter but those of `without`, LAYER.PARAMETER behind `prefix`.
void write_tensors(RankGroup& ranks, const std::string& path, const Options& options,
                   const std::string& without = "", const std::string& prefix = "") {
  run_on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    const ParameterLayout layout = layout_of(options);
    std::vector<safetensors::NamedShape> shapes;
    for (const ParameterSlot& slot : layout.slots) {
      if (slot.layer != without)
        shapes.push_back({prefix + name_in_tensors(slot.path()), stored_dims(slot.spec)});
    }
    safetensors::Writer writer(path, DType::fp32, shapes, {});
    for (const ParameterSlot& slot : layout.slots) {
      if (slot.layer != without) writer.write(numbers_of(slot));
    }
    writer.close();
  });
  ranks.barrier();
}

/// What this rank holds of each parameter, as float.
std::map<std::string, std::vector<float>> local_weights_of(const Trainer& trainer) {
  std::map<std::string, std::vector<float>> held;
  const ParameterStore& parameters = trainer.model().parameters();
  for (std::size_t i = 0; i < parameters.layout().slots.size(); ++i) {
    const HeldPart part = parameters.held_master(i);
    if (!part.values.empty()) held[parameters.layout().slots[i].path()] = test::values_of(part.values);
  }
  return held;
}

class InitialWeightsOf : public testing::TestWithParam<Shard> {
 protected:
  RankGroup ranks{MPI_COMM_WORLD, 30};
  test::SharedFolder folder{ranks};
};
INSTANTIATE_TEST_SUITE_P(Shards, InitialWeightsOf,
                         testing::Values(Shard::none, Shard::state, Shard::gradients),
                         [](const auto& shard) { return std::string(name_of(shard.param)); });

TEST_P(InitialWeightsOf, ComeToEveryRankWhateverItHolds) {
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const MasterWeights masters : masters_with(compute)) {
      Options options = small_options(compute);
      options.precision.masters = masters;
      options.optimizer.shard = GetParam();
      options.run.initial = folder.path() + "/weights.safetensors";
      write_tensors(ranks, options.run.initial, options);
      SmallRun run(options);
      InitialWeights initial(ranks, options, run.trainer->model().chain());
      initial.load(*run.trainer);
      const ParameterStore& parameters = run.trainer->model().parameters();
      const ParameterLayout& layout = parameters.layout();
      for (std::size_t i = 0; i < layout.slots.size(); ++i) {
        const ParameterSlot& slot = layout.slots[i];
        const std::vector<float> expected = numbers_of(slot);
        const std::vector<float> weights = test::values_of(parameters.compute_weight(slot));
        for (std::size_t k = 0; k < expected.size(); ++k)
          ASSERT_EQ(weights[k], test::rounded_to(slot.spec.type, expected[k])) << slot.path();
        const HeldPart local = parameters.held_master(i);
        if (local.values.empty()) continue;
        const std::vector<float> values = test::values_of(local.values);
        for (std::size_t k = 0; k < values.size(); ++k) {
          const float exact = expected[static_cast<std::size_t>(local.first) + k];
          ASSERT_EQ(values[k], test::rounded_to(local.values.type(), exact)) << slot.path();
        }
      }
      EXPECT_EQ(run.step().step, 1u);
    }
  }
}

TEST_P(InitialWeightsOf, OfACheckpointAreThoseOfTheNetworkThatWroteIt) {
  Options options = small_options(DType::bf16);
  options.optimizer.shard = GetParam();
  SmallRun source(options);
  for (int i = 0; i < 3; ++i) source.step();
  CheckpointState state = parameter_state(source.trainer->model().parameters());
  const std::string path = folder.path() + "/step.h5";
  write_checkpoint_file(ranks, path, test::header_of(3), state);
  options.run.initial = path;
  options.run.seed = 99;
  options.optimizer.average = 0.5;
  SmallRun target(options);
  InitialWeights initial(ranks, options, target.trainer->model().chain());
  EXPECT_EQ(initial.lines(2).front(),
            "run.initial: 6 of 6 parameters from " + path + " (checkpoint of step 3)");
  initial.load(*target.trainer);
  EXPECT_EQ(local_weights_of(*target.trainer), local_weights_of(*source.trainer));
  const Optimizer& optimizer = target.trainer->optimizer();
  const std::vector<ParameterSlot>& slots = target.trainer->model().parameters().layout().slots;
  const auto local = local_weights_of(*target.trainer);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const HeldPart average = optimizer.average(i);
    if (average.values.empty()) continue;
    EXPECT_EQ(test::values_of(average.values), local.at(slots[i].path())) << "the average begins there too";
  }
  EXPECT_EQ(target.trainer->read_state().step, 0u);
}

class InitialWeightsFound : public testing::Test {
 protected:
  [[nodiscard]] std::string lines(const Places& places = {}) {
    const Chain chain = make_chain(options.model, options.precision, 1, false);
    const InitialWeights initial(ranks, options, chain, places);
    return fmt::format("{}", fmt::join(initial.lines(100), "\n"));
  }
  [[nodiscard]] testing::AssertionResult refuses(ErrorId id, std::initializer_list<std::string_view> parts,
                                                 const Places& places = {}) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] { static_cast<void>(lines(places)); });
  }
  RankGroup ranks{MPI_COMM_WORLD, 30};
  test::SharedFolder folder{ranks};
  Options options = small_options(DType::fp32);
  std::string file = options.run.initial = folder.path() + "/weights.safetensors";
};

TEST_F(InitialWeightsFound, AreToldWithTheirShapes) {
  write_tensors(ranks, file, options, "", "net.");
  options.initial.rename = {{"net.*.*", "*/*"}};
  options.initial.exclude = {"head/*"};
  EXPECT_EQ(lines(), "run.initial: 4 of 6 parameters from " + file +
                         " (safetensors)\n"
                         "  hidden1/weight [24, 12] = net.hidden1.weight\n"
                         "  hidden1/bias [24] = net.hidden1.bias\n"
                         "  hidden2/weight [16, 24] = net.hidden2.weight\n"
                         "  hidden2/bias [16] = net.hidden2.bias\n"
                         "  drawn, not taken: head/weight, head/bias\n"
                         "  not used of the file: net.head.weight, net.head.bias");
}

TEST_F(InitialWeightsFound, OfAFileThatDoesNotDescribeItsNetworkAreToldWithTheOrdersAssumed) {
  options.model.norm = NormType::layernorm;
  write_tensors(ranks, file, options);
  EXPECT_THAT(lines(), testing::HasSubstr("order: hidden layers compute linear, activation, norm"));
  options.model.norm_first = true;
  EXPECT_THAT(lines(), testing::HasSubstr("order: hidden layers compute linear, norm, activation"));
}

TEST_F(InitialWeightsFound, LackingIsAnErrorUnlessItIsToBeDrawn) {
  write_tensors(ranks, file, options, "hidden2");
  EXPECT_TRUE(refuses(errors::model_mismatch, {file + ": has no hidden2/weight, hidden2/bias,",
                                               "nearest to hidden2/weight are hidden1/weight, "}));
  options.initial.missing = MissingWeights::draw;
  EXPECT_THAT(lines(), testing::EndsWith("\n  drawn, not taken: hidden2/weight, hidden2/bias"));
}

TEST_F(InitialWeightsFound, AWrongShapeNamesBothAndTheFile) {
  Options wider = options;
  wider.model.hidden = {24, 17};
  write_tensors(ranks, file, wider);
  EXPECT_TRUE(refuses(errors::model_mismatch,
                      {file + ": tensor 'hidden2.weight' is [17, 24]",
                       "hidden2/weight of this model is [16, 24]", "initial.exclude = \"hidden2/weight\""}));
}

TEST_F(InitialWeightsFound, PatternsThatMatchNothingAreToldWithTheirLine) {
  write_tensors(ranks, file, options);
  const Places places{{"initial.exclude", "deck.toml:7"},
                      {"initial.rename.1", "deck.toml:9"},
                      {"initial.rename.2", "deck.toml:12"}};
  options.initial.exclude = {"hed/*"};
  EXPECT_TRUE(
      refuses(errors::unknown_name, {"deck.toml:7: initial.exclude: 'hed/*'", "head/bias, "}, places));
  options.initial.exclude = {};
  options.initial.rename = {{"hidden1.*", "hidden1/*"}, {"hiden1.*", "hidden1/*"}};
  EXPECT_TRUE(refuses(errors::unknown_name, {"deck.toml:12: initial.rename: 'hiden1.*'", file}, places));
  options.initial.rename = {{"hidden1.*", "hiden1/*"}};
  EXPECT_TRUE(refuses(errors::unknown_name,
                      {"deck.toml:9: initial.rename: 'hiden1/*' gives 'hiden1/weight'", "hidden1/weight, "},
                      places));
  options.initial.rename = {{"hidden1.*", "hidden2/*"}};
  EXPECT_TRUE(
      refuses(errors::duplicate_key, {file, "'hidden1.", "'hidden2.", "'hidden2/", "initial.rename"}));
}

TEST_F(InitialWeightsFound, ARuleWhoseTensorsALaterOneTakesIsToldSo) {
  write_tensors(ranks, file, options);
  options.initial.rename = {{"hidden1.weight", "hidden1/weight"}, {"hidden1.*", "hidden1/*"}};
  EXPECT_TRUE(refuses(errors::key_without_effect, {"deck.toml:9: initial.rename: 'hidden1.weight'"},
                      {{"initial.rename.1", "deck.toml:9"}}));
}

/// Loads a file that has one other value, as PyTorch's state of a network on grids.
class InitialValues : public testing::Test {
 protected:
  void load(DType compute, const std::string& tensor, float value, const std::string& without = "") {
    Options options = small_options(compute);
    options.model.norm = NormType::batchnorm;
    options.model.shape = {1, 1, options.model.inputs};
    options.model.type = ModelType::chain;
    options.model.chain = {{.kind = kinds::Conv{}, .name = "conv", .outputs = 4, .norm = NormType::batchnorm},
                           {.kind = kinds::Dense{}, .name = "head"}};
    options.run.initial = folder.path() + "/state.safetensors";
    SmallRun run(options);
    run_on_all(ranks, [&] {
      if (ranks.rank() == 0) write_state(run.trainer->model(), options.run.initial, tensor, value, without);
    });
    InitialWeights(ranks, options, run.trainer->model().chain()).load(*run.trainer);
  }
  [[nodiscard]] testing::AssertionResult refuses(DType compute, const std::string& tensor, float value,
                                                 const std::string& shown) {
    return test::refuses(
        ExitCode::bad_input, errors::bad_dataset,
        {"state.safetensors: tensor '" + tensor + "' has " + shown + " as its element 0 (counted from 0)"},
        [&] { load(compute, tensor, value); });
  }

  RankGroup ranks{MPI_COMM_WORLD, 30};
  test::SharedFolder folder{ranks};

 private:
  /// Ones, but for the first value of `tensor`.
  static void write_state(const TrainingModel& model, const std::string& path, const std::string& tensor,
                          float value, const std::string& without) {
    std::vector<safetensors::NamedShape> shapes;
    for (const ParameterSlot& slot : model.parameters().layout().slots)
      shapes.push_back({name_in_tensors(slot.path()), stored_dims(slot.spec)});
    for (const BufferStore::StateBuffer& buffer : model.buffers().state()) {
      if (name_in_tensors(buffer.path) != without)
        shapes.push_back({name_in_tensors(buffer.path), {buffer.values.size()}});
    }
    safetensors::Writer writer(path, DType::fp32, shapes, {});
    for (const auto& shape : shapes) {
      std::int64_t count = 1;
      for (const std::int64_t extent : shape.shape) count *= extent;
      std::vector<float> values(static_cast<std::size_t>(count), 1.0f);
      if (shape.name == tensor) values[0] = value;
      writer.write(values);
    }
    writer.close();
  }
};

TEST_F(InitialValues, ThatTheNetworkCannotComputeWithAreRefused) {
  EXPECT_NO_THROW(load(DType::fp16, "", 0));
  EXPECT_NO_THROW(load(DType::fp32, "conv.weight", 1e6f));
  EXPECT_TRUE(refuses(DType::fp16, "conv.weight", 1e6f, "1000000"));
  EXPECT_TRUE(test::refuses(errors::bad_dataset, {"from -65504 to 65504"},
                            [&] { load(DType::fp16, "conv.weight", 1e6f); }));
  EXPECT_TRUE(refuses(DType::fp32, "head.bias", NAN, "nan"));
  EXPECT_TRUE(refuses(DType::fp32, "head.bias", INFINITY, "inf"));
  EXPECT_TRUE(refuses(DType::fp32, "conv.norm.running_variance", -1, "-1"));
  EXPECT_NO_THROW(load(DType::fp32, "conv.norm.running_mean", -1));
}

TEST_F(InitialValues, OfANormWithoutAllItsStatisticsAreMissed) {
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::model_mismatch,
                            {"state.safetensors: has no conv.norm/running_variance,"},
                            [&] { load(DType::fp32, "", 0, "conv.norm.running_variance"); }));
}

TEST_F(InitialWeightsFound, AFileThatIsNoneIsRefused) {
  options.run.initial = folder.path();
  EXPECT_TRUE(refuses(errors::no_checkpoint, {folder.path()}));
  options.run.initial = folder.path() + "/none.h5";
  EXPECT_TRUE(refuses(errors::no_such_file, {folder.path() + "/none.h5"}));
}

}  // namespace mylos::initial_weights_test
