// A network on another grid than that of its training: the bits of a network that is built on that grid with
// the same weights, and refusals that name the layer.
#include "mylos/inference/stored/other_grid.hpp"

#include <gtest/gtest.h>

#include "inference/stored_models.hpp"
#include "io/support.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/files/dataset_writer.hpp"
#include "mylos/inference/opened_network.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"

namespace mylos::other_grid_test {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t samples = 3;

std::int64_t product_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Scaling by channel: the same at every point.
ColumnScaling channel_scaling(std::int64_t channels, std::int64_t columns) {
  ColumnScaling scaling;
  for (std::int64_t i = 0; i < columns; ++i) {
    const auto channel = static_cast<double>(i % channels);
    scaling.shift.push_back(0.25 + channel);
    scaling.scale.push_back(0.5 / (1 + channel));
  }
  return scaling;
}

Options options_of(ModelOptions model, DType compute, const Shape& shape) {
  Options options;
  options.run.steps = 10;
  model.shape = shape;
  model.inputs = product_of(shape);
  model.loss = losses::Mse{};
  options.model = expand_short_form(std::move(model));
  options.data.shape = shape;
  options.precision.compute = compute;
  return options;
}

ModelOptions fourier_operator() {
  ModelOptions model;
  model.type = ModelType::fno;
  model.activation = Activation::gelu;
  model.modes = {4, 5};
  model.width = 6;
  model.blocks = 2;
  model.fields = 3;
  model.norm = NormType::batchnorm;
  model.padding = {0.25, 0};
  return model;
}

ModelOptions unet() {
  ModelOptions model;
  model.type = ModelType::unet;
  model.channels = {8, 8};
  model.norm = NormType::groupnorm;
  model.fields = 3;
  return model;
}

/// The last layer is dense, and reads no grid.
ModelOptions resnet() {
  ModelOptions model;
  model.type = ModelType::resnet;
  model.channels = {4, 6};
  model.blocks = 1;
  model.norm = NormType::batchnorm;
  model.outputs = 5;
  return model;
}

class OtherGrid : public testing::Test {
 protected:
  /// Writes the checkpoint of a network with lively weights.
  void write(const Options& options, bool scales_points = false) {
    Options complete = options;
    const Chain chain = make_chain(complete.model, complete.precision, 1, false);
    complete.model.outputs = chain.outputs();
    TrainingModel trained(chain, *engines, 2, 1 << 20, 1);
    test::set_lively_state(trained);
    const std::int64_t channels = options.model.shape.back();
    const std::int64_t of_targets = chain.grids.back().channels;
    Normalizer normalizer{channel_scaling(channels, chain.inputs()),
                          channel_scaling(of_targets, chain.outputs())};
    if (scales_points) normalizer.inputs = test::lively_scaling(chain.inputs(), 0.3, 1.7);
    test::write_network(ranks, file, trained, {.deck = resolve(complete), .normalizer = normalizer});
  }

  /// Returns the outputs of a network that is built on the grid, with the weights of the file.
  [[nodiscard]] std::vector<float> expected(Options options, const std::vector<float>& inputs) {
    Chain chain = make_chain(options.model, options.precision, 1, false);
    const Normalizer normalizer{channel_scaling(options.model.shape.back(), chain.inputs()),
                                channel_scaling(chain.grids.back().channels, chain.outputs())};
    InferenceModel model(chain, *engines, samples);
    model.read(CheckpointReader(ranks, file));
    return test::outputs_of(exec, *engines, model, normalizer, inputs);
  }

  void expect_same_bits(const ModelOptions& model, const Shape& trained, const Shape& other) {
    for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
      write(options_of(model, compute, trained));
      std::vector<float> inputs;
      for (std::int64_t i = 0; i < samples * product_of(other); ++i)
        inputs.push_back(std::sin(0.37f * static_cast<float>(i)));
      const std::vector<float> reference = expected(options_of(model, compute, other), inputs);

      Model on_grid(file, {.shape = other});
      EXPECT_EQ(on_grid.input_shape(), other);
      ASSERT_EQ(on_grid.outputs() * samples, static_cast<std::int64_t>(reference.size()));
      std::vector<float> outputs(reference.size());
      const Kokkos::View<const float**, Kokkos::LayoutRight, Kokkos::HostSpace> x(
          inputs.data(), samples, static_cast<std::size_t>(product_of(other)));
      const Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> y(
          outputs.data(), samples, static_cast<std::size_t>(on_grid.outputs()));
      on_grid.infer(exec, x, y);
      EXPECT_EQ(outputs, reference) << name_of(compute);
      EXPECT_EQ(Model(file, {.shape = trained}).bytes().total(), Model(file).bytes().total());
      EXPECT_EQ(Model::memory_of(file, {.shape = other}).total(), on_grid.bytes().total());
    }
  }

  /// Succeeds if the network of the file cannot read such samples, for this reason.
  [[nodiscard]] ::testing::AssertionResult is_refused(const Shape& shape, ErrorId id,
                                                      std::initializer_list<std::string_view> parts) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] { const Model model(file, {.shape = shape}); });
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
  std::unique_ptr<EngineSet> engines = make_engines({});
};

TEST_F(OtherGrid, HasTheBitsOfANetworkThatIsBuiltOnIt) {
  expect_same_bits(fourier_operator(), {8, 6, 2}, {12, 9, 2});
  expect_same_bits(fourier_operator(), {8, 6, 2}, {5, 5, 2});
  expect_same_bits(unet(), {4, 6, 1}, {8, 2, 1});
  expect_same_bits(resnet(), {8, 8, 2}, {6, 12, 2});
}

TEST_F(OtherGrid, KeepsTheRangeOfInputsThatIsByChannel) {
  const Options options = options_of(unet(), DType::fp32, {4, 6, 2});
  const auto moved = [&](const InputRange& range) {
    StoredNetwork network;
    network.options = options;
    network.training.normalizer.input_range = range;
    set_chain(network);
    move_to_grid(network, {8, 2, 2});
    return network.training.normalizer.input_range;
  };
  const InputRange of_channels{{-1, -2}, {1, 2}};
  const InputRange of_points{std::vector<double>(48, -1), std::vector<double>(48, 1)};
  EXPECT_EQ(moved(of_channels), of_channels);
  EXPECT_EQ(moved(of_points), InputRange{});
}

TEST_F(OtherGrid, IsRefusedByTheLayerThatReadsAllPoints) {
  ModelOptions model;
  model.type = ModelType::cnn;
  model.channels = {4};
  model.norm = NormType::none;
  model.outputs = 3;
  write(options_of(model, DType::fp32, {8, 6, 2}));
  EXPECT_TRUE(is_refused({8, 8, 2}, errors::data_mismatch,
                         {file, "8 x 8 x 2", "'head' (linear)", "samples of 8 x 6 x 2"}));
  EXPECT_TRUE(is_refused({8, 6, 3}, errors::data_mismatch, {"8 x 6 x 3", "8 x 6 x 2", "axes and channels"}));
  EXPECT_TRUE(is_refused({48, 2}, errors::data_mismatch, {"48 x 2", "8 x 6 x 2", "axes and channels"}));
}

TEST_F(OtherGrid, IsRefusedWhereItHasFewerPointsThanModes) {
  write(options_of(fourier_operator(), DType::fp32, {8, 6, 2}));
  EXPECT_TRUE(is_refused(
      {8, 4, 2}, errors::bad_layer,
      {file, "8 x 6 x 2", "8 x 4 x 2", "'block1_spectral'", "5 modes", "largest number allowed is 4"}));
  EXPECT_TRUE(is_refused({0, 6, 2}, errors::data_mismatch, {file, "0 x 6 x 2", "at least 1"}));
  EXPECT_TRUE(is_refused({-8, -6, 2}, errors::data_mismatch, {file, "-8 x -6 x 2", "at least 1"}));
  EXPECT_TRUE(is_refused({std::int64_t{1} << 40, std::int64_t{1} << 40, 2}, errors::bad_layer, {file}));
}

TEST_F(OtherGrid, IsRefusedBeforeMemoryIsTakenForMorePointsThanThereIsMemory) {
  ModelOptions wide = fourier_operator();
  wide.width = 256;  // two fields of which take 550 GB
  wide.blocks = 1;
  write(options_of(wide, DType::fp32, {8, 6, 2}));
  constexpr long little = 64 << 20;
  const long before = testing_support::peak_bytes_from_now();
  EXPECT_TRUE(test::refuses(ExitCode::does_not_fit, errors::does_not_fit, {file, "are available"}, [&] {
    const Model model(file, {.shape = {1 << 14, 1 << 14, 2}});
  }));
  EXPECT_LT(testing_support::peak_bytes() - before, little);
}

TEST_F(OtherGrid, IsRefusedWhereACoarserGridHasNoPoints) {
  write(options_of(unet(), DType::fp32, {4, 6, 1}));
  EXPECT_TRUE(is_refused({4, 7, 1}, errors::bad_layer, {file, "4 x 7 x 1", "must be divisible by 2"}));
}

TEST_F(OtherGrid, IsRefusedWhereEachPointHadItsOwnScaling) {
  write(options_of(fourier_operator(), DType::fp32, {8, 6, 2}), true);
  EXPECT_TRUE(is_refused({8, 8, 2}, errors::data_mismatch,
                         {file, "inputs", "data.normalize = \"channel\"", "8 x 6 x 2"}));
  EXPECT_EQ(Model(file, {.shape = {8, 6, 2}}).input_shape(), (Shape{8, 6, 2}));
}

TEST_F(OtherGrid, IsRefusedByANetworkOfVectors) {
  const test::StoredModel stored(ranks, file, test::vector_options(DType::fp32), false);
  EXPECT_TRUE(is_refused({8, 8, 2}, errors::data_mismatch, {file, "reads vectors", "8 x 8 x 2"}));
}

TEST_F(OtherGrid, IsOneThatTheFileDoesNotState) {
  const test::StoredModel stored(ranks, file, test::vector_options(DType::fp32), false,
                                 {{"/samples/grid", "4 16 3"}, {"/samples/input_names", "u\nv\nw"}});
  const SampleMeaning read = stored_samples(CheckpointReader(ranks, file));
  EXPECT_EQ(read.grid, (Shape{4, 16, 3}));
  EXPECT_EQ(read.input_names, (std::vector<std::string>{"u", "v", "w"}));
  EXPECT_TRUE(read.target_names.empty());
}

TEST_F(OtherGrid, OfADataFileIsFollowed) {
  const Shape other{10, 7, 2};
  write(options_of(fourier_operator(), DType::bf16, {8, 6, 2}));
  std::vector<float> inputs;
  for (std::int64_t i = 0; i < samples * product_of(other); ++i)
    inputs.push_back(std::sin(0.37f * static_cast<float>(i)));
  const std::string data = folder.path() + "/samples.h5";
  {
    DatasetWriter writer(data,
                         {.task = Task::regression,
                          .input_type = DType::fp32,
                          .samples = samples,
                          .features = product_of(other),
                          .outputs = 210},
                         "a test", "10 7 2");
    writer.add_inputs(inputs.data(), samples);
    const std::vector<float> targets(samples * 210, 0.5f);
    writer.add_targets(targets.data(), samples);
    writer.finish();
  }
  const CheckpointReader reader(ranks, file);
  const OpenedNetwork opened =
      open_network(reader, {.choose = [&](DataOptions& options) { choose_whole_file(options, data); }});
  EXPECT_EQ(opened.network.input_shape, other);
  ASSERT_FALSE(opened.notes.empty());
  EXPECT_NE(opened.notes.back().find("10 x 7 x 2"), std::string::npos) << opened.notes.back();
  const auto model = load_model(reader, opened, *engines, false);
  const auto pass = opened.pass_over(DataPart::train, *model, ranks);
  std::vector<float> found(samples * 210);
  predict({exec, *engines, model->passes()}, ranks, *pass, [&](const Share& of, std::span<float> outputs) {
    interpret_outputs(model->chain().prediction(), 210, opened.network.training.normalizer, outputs);
    std::copy(outputs.begin(), outputs.end(), found.begin() + of.first * 210);
  });
  EXPECT_EQ(found, expected(options_of(fourier_operator(), DType::bf16, other), inputs));
}

}  // namespace mylos::other_grid_test
