// Networks on grids in a program: derivatives of their inputs beside differences in double, and training.
#include <cmath>
#include <functional>

#include "mylos/base/errors/samples.hpp"
#include "support/device_views.hpp"
#include "train/allocations.hpp"
#include "train/own_loss.hpp"

namespace mylos::own_loss_grids_test {

using namespace online_support;    // NOLINT
using namespace own_loss_support;  // NOLINT
using Numbers = std::vector<double>;

constexpr std::int64_t height = 6, width = 8, fields = 2, points = height * width;
constexpr std::int64_t few = 3;  // samples

Numbers numbers_of(OnlineTrainer& online, const std::string& name) {
  const NetworkParameter parameter = online.parameter(name);
  const Kokkos::View<float*, Kokkos::HostSpace> values("values", static_cast<std::size_t>(parameter.size()));
  parameter.read(values);
  return {values.data(), values.data() + values.size()};
}

/// A field in double, channels last.
struct Field {
  std::int64_t rows, columns, channels;
  Numbers values = Numbers(static_cast<std::size_t>(rows * columns * channels));

  double& at(std::int64_t r, std::int64_t c, std::int64_t k) {
    return values[static_cast<std::size_t>((r * columns + c) * channels + k)];
  }
  [[nodiscard]] double get(std::int64_t r, std::int64_t c, std::int64_t k) const {
    const bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
    return inside ? values[static_cast<std::size_t>((r * columns + c) * channels + k)] : 0;
  }
};

struct Layer {
  Numbers weight;
  Numbers bias;
};

Layer layer_of(OnlineTrainer& online, const std::string& name) {
  return {numbers_of(online, name + "/weight"), numbers_of(online, name + "/bias")};
}

/// A convolution with zeros around the field, [outputs][taps][channels], and tanh if wanted.
Field convolve(const Field& x, const Layer& layer, std::int64_t kernel, bool bends) {
  const auto outputs = static_cast<std::int64_t>(layer.bias.size());
  Field y{x.rows, x.columns, outputs};
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; ++c)
      for (std::int64_t o = 0; o < outputs; ++o) {
        double sum = layer.bias[static_cast<std::size_t>(o)];
        for (std::int64_t tap = 0; tap < kernel * kernel; ++tap)
          for (std::int64_t k = 0; k < x.channels; ++k)
            sum += layer.weight[static_cast<std::size_t>((o * kernel * kernel + tap) * x.channels + k)] *
                   x.get(r + tap / kernel - kernel / 2, c + tap % kernel - kernel / 2, k);
        y.at(r, c, o) = bends ? std::tanh(sum) : sum;
      }
  return y;
}

Field max_pool(const Field& x) {
  Field y{x.rows / 2, x.columns / 2, x.channels};
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c)
      for (std::int64_t k = 0; k < x.channels; ++k)
        y.at(r, c, k) = std::max(std::max(x.get(2 * r, 2 * c, k), x.get(2 * r, 2 * c + 1, k)),
                                 std::max(x.get(2 * r + 1, 2 * c, k), x.get(2 * r + 1, 2 * c + 1, k)));
  return y;
}

/// A transposed convolution of windows and strides of 2, [inputs][taps][channels].
Field double_points(const Field& x, const Layer& layer) {
  const auto outputs = static_cast<std::int64_t>(layer.bias.size());
  Field y{2 * x.rows, 2 * x.columns, outputs};
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c)
      for (std::int64_t o = 0; o < outputs; ++o) {
        double sum = layer.bias[static_cast<std::size_t>(o)];
        for (std::int64_t k = 0; k < x.channels; ++k)
          sum += layer.weight[static_cast<std::size_t>((k * 4 + r % 2 * 2 + c % 2) * outputs + o)] *
                 x.get(r / 2, c / 2, k);
        y.at(r, c, o) = sum;
      }
  return y;
}

Field beside(const Field& a, const Field& b) {
  Field y{a.rows, a.columns, a.channels + b.channels};
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c)
      for (std::int64_t k = 0; k < y.channels; ++k)
        y.at(r, c, k) = k < a.channels ? a.get(r, c, k) : b.get(r, c, k - a.channels);
  return y;
}

/// A small U-Net of two levels whose input is read by three blocks.
Options unet_options(DType compute) {
  Options options = online_options(compute);
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.loss = losses::Mse{};
  options.model.inputs = options.model.outputs = points * fields;
  options.model.residual = true;
  options.data.shape = {height, width, fields};
  std::vector<LayerOptions>& layers = options.model.chain;
  const auto convolution = [&](const char* name, std::int64_t outputs) {
    layers.emplace_back();
    layers.back().kind = kinds::Conv{.kernel = {3}};
    layers.back().name = name;
    layers.back().outputs = outputs;
    layers.back().activation = Activation::tanh;
  };
  const auto join = [&](const char* name, const char* from) {
    layers.emplace_back();
    layers.back().kind = kinds::Concat{};
    layers.back().name = name;
    layers.back().skip_from = from;
  };
  convolution("a", 4);
  layers.emplace_back();
  layers.back().kind = kinds::MaxPool{};
  layers.back().name = "pool";
  convolution("b", 6);
  convolution("up", 4);
  layers.back().kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true};
  layers.back().activation = Activation::none;
  join("beside_a", "a");
  convolution("c", 4);
  join("beside_input", "input");
  convolution("last", fields);
  layers.back().kind = kinds::Conv{};
  layers.back().activation = Activation::none;
  return options;
}

/// The U-Net in double.
std::function<Numbers(const Numbers&)> unet_in_double(OnlineTrainer& online) {
  std::vector<Layer> layers;
  for (const char* name : {"a", "b", "up", "c", "last"}) layers.push_back(layer_of(online, name));
  return [layers](const Numbers& input) {
    const Field x{height, width, fields, input};
    const Field a = convolve(x, layers[0], 3, true);
    const Field up = double_points(convolve(max_pool(a), layers[1], 3, true), layers[2]);
    const Field c = convolve(beside(up, a), layers[3], 3, true);
    Numbers y = convolve(beside(c, x), layers[4], 1, false).values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += input[i];
    return y;
  };
}

std::function<Numbers(const Numbers&)> mlp_in_double(OnlineTrainer& online) {
  std::vector<Layer> layers;
  for (const char* name : {"hidden1", "hidden2", "head"}) layers.push_back(layer_of(online, name));
  return [layers](const Numbers& input) {
    Numbers x = input;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Numbers y = layers[i].bias;
      for (std::size_t o = 0; o < y.size(); ++o) {
        for (std::size_t k = 0; k < x.size(); ++k) y[o] += layers[i].weight[o * x.size() + k] * x[k];
        if (i + 1 < layers.size()) y[o] = std::tanh(y[o]);
      }
      x = y;
    }
    return x;
  };
}

Matrix waves(const char* name, std::int64_t rows, std::int64_t columns, double speed) {
  const Matrix view(name, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < host.size(); ++i)
    host.data()[i] = static_cast<float>(std::sin(speed * static_cast<double>(i * i % 997)));
  Kokkos::deep_copy(view, host);
  return view;
}

/// The largest difference of dx and central differences in double of the sum of dy y, relative to the largest
/// of these.
double error_of(const std::function<Numbers(const Numbers&)>& network, const Matrix& x, const Matrix& dy,
                const Matrix& dx) {
  constexpr double step = 1e-5;
  const std::vector<float> inputs = on_host_of(x), seeds = on_host_of(dy), found = on_host_of(dx);
  double error = 0, largest = 0;
  for (std::size_t sample = 0; sample < x.extent(0); ++sample) {
    const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(sample * x.extent(1));
    Numbers point(begin, begin + static_cast<std::ptrdiff_t>(x.extent(1)));
    const auto loss = [&](std::size_t i, double change) {
      Numbers moved = point;
      moved[i] += change;
      const Numbers y = network(moved);
      double sum = 0;
      for (std::size_t o = 0; o < y.size(); ++o) sum += double{seeds[sample * dy.extent(1) + o]} * y[o];
      return sum;
    };
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double expected = (loss(i, step) - loss(i, -step)) / (2 * step);
      largest = std::max(largest, std::abs(expected));
      error = std::max(error, std::abs(expected - double{found[sample * x.extent(1) + i]}));
    }
  }
  return error / largest;
}

struct Network {
  std::string name;
  Options (*options)(DType);
  std::function<Numbers(const Numbers&)> (*in_double)(OnlineTrainer&);
};

class InputGradients : public testing::TestWithParam<Network> {};
INSTANTIATE_TEST_SUITE_P(Networks, InputGradients,
                         testing::Values(Network{"mlp", [](DType type) { return online_options(type); },
                                                 mlp_in_double},
                                         Network{"unet", unet_options, unet_in_double}),
                         [](const auto& network) { return network.param.name; });

TEST_P(InputGradients, AreThoseOfDifferencesInDouble) {
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    for (const LossReduction reduction : {LossReduction::sum, LossReduction::mean}) {
      std::vector<float> stored;
      for (const RecomputeMode recompute : {RecomputeMode::none, RecomputeMode::all}) {
        Options options = GetParam().options(type);
        options.precision.scaler.initial_scale = 64;  // dy is of order 1
        options.memory.recompute = recompute;
        OnlineTrainer online(options, MPI_COMM_WORLD,
                             OnlineOptions{.input_gradients = true, .reduction = reduction});
        const Matrix x = waves("x", few, options.model.inputs, 0.37);
        const Matrix dy = waves("dy", few, options.model.outputs, 0.11);
        const Matrix y("y", few, static_cast<std::size_t>(options.model.outputs));
        const Matrix dx("dx", few, static_cast<std::size_t>(options.model.inputs));
        online.forward(x, y);
        online.backward(dy, dx);
        const double tolerance = type == DType::fp32 ? 1e-5 : type == DType::fp16 ? 5e-3 : 4e-2;
        if (recompute == RecomputeMode::none) {
          EXPECT_LT(error_of(GetParam().in_double(online), x, dy, dx), tolerance) << name_of(type);
        }
        if (stored.empty()) stored = on_host_of(dx);
        EXPECT_EQ(on_host_of(dx), stored);  // of every schedule
        EXPECT_TRUE(online.apply().updated);
      }
    }
  }
}

TEST_P(InputGradients, ChangeNoBitsOfAStep) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    const Options options = GetParam().options(type);
    OnlineTrainer plain(options, MPI_COMM_WORLD);
    OnlineTrainer with(options, MPI_COMM_WORLD,
                       OnlineOptions{.input_gradients = true, .reduction = LossReduction::mean});
    const Matrix x = waves("x", most, options.model.inputs, 0.37);
    const Matrix t = waves("t", most, options.model.outputs, 0.21);
    const Matrix y("y", most, t.extent(1));
    const Matrix dx("dx", most, x.extent(1));
    for (int step = 0; step < 10; ++step) {
      plain.step(x, t);
      with.forward(x, y);
      seed_squares(y, t, 1.0f / static_cast<float>(t.extent(1)));
      step % 2 == 0 ? with.backward(y, dx) : with.backward(y);
      with.apply();
    }
    EXPECT_EQ(values_of_parameters(plain), values_of_parameters(with)) << name_of(type);
  }
}

TEST_P(InputGradients, TakeTheMemoryThatIsPlanned) {
  const Options options = GetParam().options(DType::bf16);
  for (const bool wanted : {false, true}) {
    const testing_support::AllocationsByLabel allocations;
    OnlineTrainer online(options, MPI_COMM_WORLD, OnlineOptions{.input_gradients = wanted});
    const std::size_t bytes = input_gradient_bytes(online.trainer().model().chain(), most);
    EXPECT_EQ(bytes > 0, wanted);
    EXPECT_EQ(testing_support::AllocationsByLabel::live["input gradients"], bytes);
  }
}

class GridTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, GridTypes, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(GridTypes, AUNetLearnsOneFieldFromAnother) {
  Options options = unet_options(GetParam());
  options.optimizer.clip_norm = 0;
  OnlineTrainer online(options, MPI_COMM_WORLD);
  const Matrix x = waves("x", most, options.model.inputs, 0.37);
  const Matrix t("t", x.extent(0), x.extent(1));
  const std::vector<float> inputs = on_host_of(x);
  const auto targets = Kokkos::create_mirror_view(t);
  for (std::size_t i = 0; i < inputs.size(); ++i) targets.data()[i] = 0.5f - inputs[i];
  Kokkos::deep_copy(t, targets);
  const double first = online.step(x, t).loss;
  StepReport report;
  for (int step = 0; step < 150; ++step) report = online.step(x, t);
  EXPECT_LT(report.loss, 0.05 * first);
  const Matrix y("y", x.extent(0), x.extent(1));
  online.infer(x, y);
  const std::vector<float> found = on_host_of(y);
  double squares = 0;
  for (std::size_t i = 0; i < found.size(); ++i) squares += std::pow(found[i] - targets.data()[i], 2);
  EXPECT_LT(squares / static_cast<double>(found.size()), 0.06 * first);
}

TEST(OnlineGrids, AConvolutionalNetworkClassifiesByLabels) {
  Options options = online_options();
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.loss = losses::CrossEntropy{};
  options.model.inputs = points * fields;
  options.model.outputs = 3;
  options.model.shape = {height, width, fields};  // in code, in place of data.shape
  options.model.chain.resize(3);
  options.model.chain[0].kind = kinds::Conv{.kernel = {3}};
  options.model.chain[0].outputs = 8;
  options.model.chain[0].activation = Activation::relu;
  options.model.chain[1].kind = kinds::MaxPool{};
  OnlineTrainer online(options, MPI_COMM_WORLD);
  const Matrix x = waves("x", most, options.model.inputs, 0.37);
  const Labels labels("labels", most);
  const auto on_host = Kokkos::create_mirror_view(labels);
  for (std::size_t i = 0; i < on_host.size(); ++i) on_host(i) = static_cast<std::int32_t>(i % 3);
  Kokkos::deep_copy(labels, on_host);
  const double first = online.step(x, labels).loss;
  StepReport report;
  for (int step = 0; step < 100; ++step) report = online.step(x, labels);
  EXPECT_LT(report.loss, 0.2 * first);
  const Matrix logits("logits", most, 3);
  online.infer(x, logits);
  const std::vector<float> found = on_host_of(logits);
  int right = 0;
  for (std::size_t i = 0; i < most; ++i) {
    const auto row = found.begin() + static_cast<std::ptrdiff_t>(3 * i);
    right += std::max_element(row, row + 3) - row == static_cast<std::ptrdiff_t>(i % 3) ? 1 : 0;
  }
  EXPECT_EQ(right, most);

  options.model.inputs += 1;
  expect_error([&] { OnlineTrainer(options, MPI_COMM_WORLD); }, errors::data_mismatch,
               {"data.shape", "96 numbers", "97"});
}

}  // namespace mylos::own_loss_grids_test
