// Gradients of networks of samples in boxes, one on each rank, against difference quotients of the loss of
// whole samples.
//
// The network computes outputs in float, and its loss is taken of them here, in double. A quotient of four
// points along a random direction in all numbers of a tensor is exact to about 1e-4 of the gradient's length.
#include "model/parts_of_samples.hpp"

namespace mylos::differences_of_parts_test {

using parts_of_samples_test::Batch;
using parts_of_samples_test::field;
using parts_of_samples_test::rows;
using parts_of_samples_test::seed;
using parts_of_samples_test::tensor_in;
using parts_of_samples_test::with_norm;
using test::conv;

constexpr double step_size = 0.001;
constexpr double loss_scale = 64;  // of parts_of_samples_test::step_of()

/// The mean squared error of whole samples as a function of the weights and inputs.
class Whole {
 public:
  Whole(const ModelOptions& options, const Batch& batch)
      : options_(options), batch_(batch), chain_(make_chain(options, precision(), seed, false, true)) {}

  /// With `weights` moved by `by` · direction in parameter `slot`, or the inputs if there is no such slot.
  [[nodiscard]] double loss(std::size_t slot, const std::vector<float>& direction, double by) const {
    const Execution exec;
    TrainingModel model(chain_, *engines_, rows, 1 << 20, 1);
    model.parameters().initialize(exec, seed);
    std::vector<float> inputs = batch_.inputs;
    const auto& slots = model.parameters().layout().slots;
    if (slot < slots.size()) {
      const Tensor weights = model.parameters().compute_weight(slots[slot]);
      test::set_values(weights, moved(test::values_of(weights), direction, by));
    } else {
      inputs = moved(inputs, direction, by);
    }
    const Arena arena("input", 1 << 18);
    const Tensor input = tensor_in(arena, inputs, DType::fp32);
    const test::DeviceValue<std::uint64_t> step(3);
    model.begin_step(exec);
    model.forward({.exec = exec, .engines = *engines_, .step = step.data()}, input);
    exec.fence();
    const std::vector<float> outputs = test::values_of(model.output());
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const double error = static_cast<double>(outputs[i]) - static_cast<double>(batch_.targets[i]);
      sum += error * error;
    }
    return sum / static_cast<double>(outputs.size());
  }

  [[nodiscard]] double slope(std::size_t slot, const std::vector<float>& direction) const {
    const auto between = [&](double by) { return loss(slot, direction, by) - loss(slot, direction, -by); };
    return (8 * between(step_size) - between(2 * step_size)) / (12 * step_size);
  }

  [[nodiscard]] std::vector<std::size_t> sizes() const {
    const TrainingModel model(chain_, *engines_, rows, 1 << 20, 1);
    std::vector<std::size_t> sizes;
    for (const ParameterSlot& slot : model.parameters().layout().slots)
      sizes.push_back(static_cast<std::size_t>(model.parameters().gradient(slot).size()));
    return sizes;
  }

 private:
  static PrecisionOptions precision() {
    PrecisionOptions precision;
    precision.compute = DType::fp32;
    return precision;
  }
  static std::vector<float> moved(std::vector<float> values, const std::vector<float>& direction, double by) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<double>(values[i]) + by * static_cast<double>(direction[i]));
    return values;
  }

  const ModelOptions& options_;
  const Batch& batch_;
  Chain chain_;
  std::unique_ptr<EngineSet> engines_ = make_engines({});
};

double dot(const std::vector<float>& direction, const double* gradient) {
  double sum = 0;
  for (std::size_t i = 0; i < direction.size(); ++i)
    sum += static_cast<double>(direction[i]) * gradient[i] / loss_scale;
  return sum;
}

double length_of(const double* gradient, std::size_t size) {
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += gradient[i] * gradient[i] / (loss_scale * loss_scale);
  return std::sqrt(sum);
}

void expect_slopes(const ModelOptions& model, const std::string& name) {
  const Batch batch(model);
  const Whole whole(model, batch);
  const GridShape grid = grid_of(model.shape);
  const std::vector<std::size_t> sizes = whole.sizes();
  std::vector<std::vector<float>> directions;  // in each parameter, and in the inputs
  std::vector<double> slopes;
  for (std::size_t slot = 0; slot <= sizes.size(); ++slot) {
    const std::size_t size = slot < sizes.size() ? sizes[slot] : batch.inputs.size();
    const auto number = static_cast<unsigned>(50 + slot);
    directions.push_back(test::random_values(DType::fp32, static_cast<std::int64_t>(size), -1, 1, number));
    slopes.push_back(whole.slope(slot, directions.back()));
  }
  std::size_t tested = 0;
  for (const GridPart& part : test::own_parts()) {
    if (!test::divides(part, {grid.extent[0], grid.extent[1] / 2, grid.extent[2] / 2})) continue;
    ModelOptions of_box = model;
    of_box.part = part;
    Batch own = batch;
    own.inputs = test::cropped(batch.inputs, grid, part);
    own.targets =
        test::cropped(batch.targets, parts_of_samples_test::grid_of_sample(model, model.outputs), part);
    test::MpiSampleRanks ranks(part);
    const auto box = parts_of_samples_test::step_of(of_box, DType::fp32, own, &ranks);
    const std::vector<double> gradients = test::summed(box.gradients);
    const std::string what =
        fmt::format("{} in {} x {} x {} boxes", name, part.boxes[0], part.boxes[1], part.boxes[2]);
    const double all = length_of(gradients.data(), gradients.size());
    const auto expect = [&](std::size_t slot, double found, double length) {
      EXPECT_NEAR(found, slopes[slot], 2e-4 * length + 2e-5 * all) << what << ", parameter " << slot;
    };
    std::size_t first = 0;
    for (std::size_t slot = 0; slot < sizes.size(); first += sizes[slot++]) {
      const double* const gradient = gradients.data() + first;
      expect(slot, dot(directions[slot], gradient), length_of(gradient, sizes[slot]));
    }
    EXPECT_EQ(first, gradients.size()) << what;
    // The gradient of the inputs lies in the boxes.
    const std::vector<double> dx(box.input_gradient.begin(), box.input_gradient.end());
    const double length = length_of(dx.data(), dx.size());
    const double own_slope = dot(test::cropped(directions.back(), grid, part), dx.data());
    const std::vector<double> sums = test::summed({own_slope, length * length});
    expect(sizes.size(), sums[0], std::sqrt(sums[1]));
    ++tested;
  }
  EXPECT_GT(tested, 0u);
}

/// Values of norms, convolutions and skips at two resolutions.
TEST(DifferencesOfParts, AUNetsGradientsAreSlopesOfTheLossOfWholeSamples) {
  LayerOptions ring = with_norm(conv("ring", 6, {3}), NormType::layernorm);
  std::get<kinds::Conv>(ring.kind).edges = Padding::periodic;
  LayerOptions up = conv("up", 4, {4}, {2});
  up.kind = kinds::Conv{.kernel = {4}, .stride = {2}, .padding = {1}, .transposed = true};
  const ModelOptions model =
      field({12, 16, 2}, 2,
            {with_norm(conv("a", 4, {5}), NormType::groupnorm),
             {.kind = kinds::Coordinates{}},
             with_norm(conv("down", 6, {3}, {2}), NormType::groupnorm, Activation::silu),
             ring,
             {.kind = kinds::Add{.gated = true}, .skip_from = "down"},
             up,
             {.kind = kinds::Concat{}, .skip_from = "a"},
             with_norm(conv("b", 4, {3}), NormType::rmsnorm, Activation::tanh),
             conv("head", 2, {1})});
  expect_slopes(model, "U-Net");
}

TEST(DifferencesOfParts, AFourierOperatorsGradientsAreSlopesOfTheLossOfWholeSamples) {
  ModelOptions model = field({12, 16, 2}, 2, {});
  model.type = ModelType::fno;
  model.width = 4;
  model.blocks = 2;
  model.modes = {7, 5};
  model.fields = 2;
  model.activation = Activation::gelu;
  expect_slopes(model, "Fourier operator");
}

}  // namespace mylos::differences_of_parts_test
