// Networks of samples in boxes, one on each rank, against the same networks of whole samples: outputs, loss,
// and every gradient.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/convolution_case.hpp"
#include "model/listed_layers.hpp"
#include "model/mpi_sample_ranks.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/training_model.hpp"

namespace mylos::parts_of_samples_test {

using test::conv;
using test::model_on;

constexpr std::int64_t rows = 2;
constexpr std::uint64_t seed = 9;

/// For statistics over all ranks.
class AllRanks final : public SumsOverRanks {
 public:
  explicit AllRanks(const GridPart& part) : ranks_(part) {}
  void add_up(const Execution& exec, const Tensor& sums) override { ranks_.add_up(exec, sums); }

 private:
  test::MpiSampleRanks ranks_;
};

struct Result {
  std::vector<float> outputs, input_gradient;
  std::vector<double> gradients, sums;  // of all parameters; for the running statistics
  double loss = 0;
  SampleExchangeSizes exchanges;
};

struct Batch {
  explicit Batch(const ModelOptions& model)
      : inputs(test::random_values(DType::fp32, rows * model.inputs, -1, 1, 1)),
        targets(test::random_values(DType::fp32, rows * model.outputs, -1, 1, 2)) {}

  std::vector<float> inputs, targets;
  std::vector<std::int32_t> labels{1, 3};
};

Tensor tensor_in(const Arena& arena, const std::vector<float>& values, DType type) {
  const Tensor tensor(arena.data(), type, rows, static_cast<std::int64_t>(values.size()) / rows);
  test::set_values(tensor, values);
  return tensor;
}

/// Without it the first layer computes none.
bool wants_input_gradient(DType compute) {
  return compute == DType::fp32;
}

/// One step of a network whose batch is that of a rank, by gradients of the mean over all ranks' rows.
Result step_of(const ModelOptions& options, DType compute, const Batch& batch, SampleRanks* ranks) {
  const Execution exec;
  const auto engines = make_engines({});
  PrecisionOptions precision;
  precision.compute = compute;
  const Chain chain = make_chain(options, precision, seed, false, wants_input_gradient(compute));
  TrainingModel model(chain, *engines, rows, 1 << 20, 1);
  model.parameters().initialize(exec, seed);
  const Arena arena("input", 1 << 18), numbers("targets", 1 << 18), labels("labels", 4096);
  const Tensor input = tensor_in(arena, batch.inputs, chain.input_type());
  tensor_in(numbers, batch.targets, DType::fp32);
  test::copy_to_device(batch.labels.data(), labels.data(), batch.labels.size() * sizeof(std::int32_t));
  Truth truth;
  if (chain.prediction() == Prediction::classes) {
    truth.labels = reinterpret_cast<const std::int32_t*>(labels.data());
  } else {
    truth.targets = reinterpret_cast<const float*>(numbers.data());
  }
  const test::DeviceValue<std::uint64_t> step(3);
  const test::DeviceValue<float> scale(64.0f);
  const test::DeviceValue<LossSums> sums;
  std::optional<AllRanks> all;
  if (ranks != nullptr) all.emplace(options.part);
  const StepContext context{.exec = exec,
                            .engines = *engines,
                            .step = step.data(),
                            .ranks = all ? &*all : nullptr,
                            .sample_ranks = ranks};
  model.begin_step(exec);
  model.forward(context, input);
  const auto boxes = static_cast<float>(options.part.count());
  model.loss_and_seed(context, truth, {scale.data(), 1.0f / (boxes * rows), false}, sums.data());
  Result result;
  result.outputs = test::values_of(model.output());
  model.backward(
      context, false, [](std::size_t) {}, nullptr, wants_input_gradient(compute));
  exec.fence();
  if (wants_input_gradient(compute)) result.input_gradient = test::values_of(model.input_gradient());
  for (const ParameterSlot& slot : model.parameters().layout().slots) {
    const std::vector<double> gradient = test::doubles_of(model.parameters().gradient(slot));
    result.gradients.insert(result.gradients.end(), gradient.begin(), gradient.end());
  }
  if (!model.buffers().sums().empty()) {
    result.sums.resize(static_cast<std::size_t>(model.buffers().sums().size()));
    test::copy_to_host(model.buffers().sums().data(), result.sums.data(), model.buffers().sums().bytes());
  }
  result.loss = sums.get().loss;
  result.exchanges = sample_exchanges(chain, rows);
  return result;
}

template <class Values>
void expect_near(const Values& found, const Values& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double size = 0, largest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    size = std::max(size, std::abs(static_cast<double>(expected[i])));
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(error <= largest)) {
      largest = error;
      at = i;
    }
  }
  EXPECT_GT(size, 0) << what;
  EXPECT_LE(largest, tolerance * size) << what << ", number " << at << " of " << found.size();
}

GridShape grid_of_sample(const ModelOptions& model, std::int64_t numbers) {
  GridShape grid = grid_of(model.shape);
  grid.channels = numbers / grid.points();
  return grid;
}

void expect_parts(const ModelOptions& model, const std::string& name, DType compute = DType::fp32) {
  const Batch batch(model);
  const Result whole = step_of(model, compute, batch, nullptr);
  const bool is_vector = whole.outputs.size() % static_cast<std::size_t>(grid_of(model.shape).points()) != 0;
  std::size_t tested = 0;
  for (const GridPart& part : test::own_parts()) {
    const GridShape input = grid_of(model.shape);
    if (!test::divides(part, input.extent)) continue;
    ++tested;
    ModelOptions of_box = model;
    of_box.part = part;
    Batch own = batch;
    own.inputs = test::cropped(batch.inputs, input, part);
    if (!is_vector) own.targets = test::cropped(batch.targets, grid_of_sample(model, model.outputs), part);
    test::MpiSampleRanks ranks(part);
    const Result box = step_of(of_box, compute, own, &ranks);
    const std::string what =
        fmt::format("{} in {} x {} x {} boxes", name, part.boxes[0], part.boxes[1], part.boxes[2]);
    const double tolerance = compute == DType::fp32 ? 2e-5 : 0.05;
    const auto numbers = static_cast<std::int64_t>(whole.outputs.size()) / rows;
    const std::vector<float> outputs =
        is_vector ? whole.outputs : test::cropped(whole.outputs, grid_of_sample(model, numbers), part);
    expect_near(box.outputs, outputs, tolerance, what + ": outputs");
    if (wants_input_gradient(compute)) {
      expect_near(box.input_gradient, test::cropped(whole.input_gradient, input, part), tolerance,
                  what + ": input gradient");
    }
    expect_near(test::summed(box.gradients), whole.gradients, tolerance, what + ": gradients");
    EXPECT_NEAR(test::summed({box.loss})[0] / static_cast<double>(part.count()), whole.loss,
                tolerance * whole.loss)
        << what;
    if (!whole.sums.empty())
      expect_near(test::summed(box.sums), whole.sums, tolerance, what + ": statistics");
    EXPECT_EQ(box.exchanges.faces, ranks.largest.faces) << what;
    EXPECT_EQ(box.exchanges.sums, ranks.largest.sums) << what;
  }
  EXPECT_GT(tested, 0u) << name;
}

LayerOptions with_norm(LayerOptions layer, NormType norm, Activation activation = Activation::gelu) {
  layer.norm = norm;
  layer.norm_groups = 2;
  layer.activation = activation;
  return layer;
}

ModelOptions field(std::vector<std::int64_t> shape, std::int64_t channels, std::vector<LayerOptions> layers) {
  ModelOptions model = model_on(std::move(shape), 0, std::move(layers));
  model.outputs = model.inputs / model.shape.back() * channels;
  model.loss = losses::Mse{};
  return model;
}

TEST(PartsOfSamples, UNetsAreThoseOfWholeSamples) {
  ModelOptions model = field({24, 24, 3}, 2, {});
  model.type = ModelType::unet;
  model.channels = {4, 6};
  model.fields = 2;
  for (const NormType norm :
       {NormType::none, NormType::batchnorm, NormType::groupnorm, NormType::layernorm}) {
    model.norm = norm;
    model.edges = norm == NormType::none ? Padding::periodic : Padding::zero;
    if (norm == NormType::groupnorm) continue;  // eight groups
    expect_parts(model, fmt::format("unet, {}", name_of(norm)));
  }
  model.norm = NormType::none;
  expect_parts(model, "unet in bf16", DType::bf16);
}

TEST(PartsOfSamples, ClassifiersCountEachBoxOnce) {
  const LayerOptions head{.kind = kinds::Dense{}};
  const LayerOptions pool{.kind = kinds::GlobalPool{}};
  ModelOptions model = model_on({24, 24, 3}, 5,
                                {with_norm(conv("a", 4, {3}, {2}), NormType::groupnorm),
                                 with_norm(conv("b", 6, {3}), NormType::batchnorm),
                                 pool,
                                 {.kind = kinds::Dense{}, .outputs = 7, .activation = Activation::tanh},
                                 head});
  expect_parts(model, "classifier");
}

TEST(PartsOfSamples, EveryKindOfLayerThatTakesPartsIsThatOfWholeSamples) {
  LayerOptions ring = conv("ring", 4, {5});
  std::get<kinds::Conv>(ring.kind).edges = Padding::periodic;
  LayerOptions up = conv("up", 4, {4}, {2});
  up.kind = kinds::Conv{.kernel = {4}, .stride = {2}, .padding = {1}, .transposed = true};
  LayerOptions over_ranks = with_norm(conv("over_ranks", 4, {3}), NormType::batchnorm, Activation::relu);
  over_ranks.norm_over = NormOver::ranks;
  ModelOptions model = field({24, 24, 2}, 2,
                             {{.kind = kinds::Coordinates{}},
                              with_norm(ring, NormType::groupnorm),
                              {.kind = kinds::AveragePool{}, .name = "coarse"},
                              over_ranks,
                              {.kind = kinds::Add{.gated = true}, .skip_from = "coarse"},
                              up,
                              {.kind = kinds::Concat{}, .skip_from = "ring"},
                              {.kind = kinds::MaxPool{}},
                              {.kind = kinds::Upsample{}},
                              {.kind = kinds::Norm{}, .norm = NormType::rmsnorm},
                              {.kind = kinds::Activation{}, .activation = Activation::silu},
                              conv("head", 2, {1})});
  model.residual = true;
  expect_parts(model, "layers");
  model.residual = false;
  for (const Loss& loss : std::vector<Loss>{losses::L1{}, losses::Huber{}, losses::Gaussian{},
                                            losses::Quantile{.levels = {0.1, 0.5}}}) {
    model.loss = loss;
    expect_parts(model, std::string(name_of(loss)));
  }
}

TEST(PartsOfSamples, WeightsOfPointsAreThoseOfTheBox) {
  ModelOptions model = field({12, 24, 2}, 3, {conv("a", 3, {3})});
  auto weights = std::make_shared<PointWeights>();
  weights->extents = {12, 24};
  weights->values = test::random_values(DType::fp32, 12 * 24, 0, 2, 7);
  model.point_weights = weights;
  for (const Loss& loss : std::vector<Loss>{losses::Mse{}, losses::L1{}}) {
    model.loss = loss;
    expect_parts(model, fmt::format("weighted {}", name_of(loss)));
  }
}

TEST(PartsOfSamples, LinesAndVolumesAreDividedToo) {
  LayerOptions down = conv("down", 4, {4}, {2});
  std::get<kinds::Conv>(down.kind).padding = {1};
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{48, 2}, {12, 12, 24, 2}}) {
    LayerOptions up = conv("up", 3, {2}, {2});
    up.kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true};
    if (shape.size() == 4) {
      std::get<kinds::Conv>(down.kind) = {.kernel = {1, 3, 4}, .stride = {1, 1, 2}, .padding = {0, 1, 1}};
      std::get<kinds::Conv>(up.kind) = {
          .kernel = {1, 1, 2}, .stride = {1, 1, 2}, .padding = {0}, .transposed = true};
    }
    expect_parts(field(shape, 3, {with_norm(conv("a", 4, {3}), NormType::groupnorm), down, up}),
                 fmt::format("{} axes", shape.size() - 1));
  }
}

LayerOptions spectral(std::string name, std::int64_t outputs, PerAxis modes,
                      Activation activation = Activation::none) {
  return {.kind = kinds::Spectral{.modes = std::move(modes)},
          .name = std::move(name),
          .outputs = outputs,
          .activation = activation};
}

TEST(PartsOfSamples, SpectralLayersTransformWholeSamples) {
  const auto expect = [](const std::vector<std::int64_t>& shape, const PerAxis& modes, const PerAxis& fewer) {
    const PerAxis halves = shape.size() == 4 ? PerAxis{1, 1, 2} : PerAxis{2};  // boxes of 3 points exist
    LayerOptions down = conv("down", 4, halves, halves);
    std::get<kinds::Conv>(down.kind).padding = {0};
    const LayerOptions up{.kind = kinds::Upsample{.factor = halves}};
    LayerOptions coarse = with_norm(spectral("b", 4, fewer), NormType::batchnorm);
    std::get<kinds::Spectral>(coarse.kind).bias = false;  // its gradient would be zero but for rounding
    const ModelOptions model = field(shape, 3,
                                     {spectral("a", 4, modes, Activation::gelu),
                                      down,
                                      coarse,
                                      up,
                                      {.kind = kinds::Concat{}, .skip_from = "a"},
                                      conv("c", 4, {1}),
                                      spectral("d", 3, modes)});
    expect_parts(model, fmt::format("spectral layers on {} axes", shape.size() - 1));
    expect_parts(model, fmt::format("spectral layers on {} axes in bf16", shape.size() - 1), DType::bf16);
  };
  expect({48, 2}, {11}, {24});
  expect({24, 24, 2}, {5, 8}, {3, 12});
  expect({12, 12, 24, 2}, {3, 4, 5}, {2, 3, 4});
}

TEST(PartsOfSamples, FourierNeuralOperatorsAreThoseOfWholeSamples) {
  ModelOptions model = field({24, 12, 3}, 2, {});
  model.type = ModelType::fno;
  model.width = 6;
  model.blocks = 2;
  model.modes = {8, 5};
  model.fields = 2;
  model.activation = Activation::gelu;
  expect_parts(model, "fno");
}

}  // namespace mylos::parts_of_samples_test
