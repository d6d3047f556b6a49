// Measures the complete training step of a convolutional network with AdamW, by the commands of
// step_program.hpp.
//
//   chain_bench [--instructions NAME] NETWORK [COMMAND]
//
//   residual   28 x 28 pictures, batch 128: a stem, three blocks of two convolutions each of 32, 64 and 128
//              channels on grids of 28, 14 and 7 points, their average, and a classifier
//   unet       64 x 64 points of 3 channels, batch 16: two convolutions each of 32, 64 and 128 channels down
//              and of 64 and 32 up again with skip connections; one channel of targets
//   fno-64-12  a Fourier neural operator of width 32 with four blocks, on 64 x 64 points with 12 modes along
//              each axis, batch 16; the numbers may be others
//   spectral-64-12   one spectral layer of 32 channels
//
// pytorch_chain.py has the first two networks, neuraloperator_step.py the others.
#include <fmt/format.h>

#include <cstdio>

#include "commands.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "step_program.hpp"

namespace mylos {
namespace {

using Layers = std::vector<LayerOptions>;

LayerOptions convolution(const std::string& name, std::int64_t channels, std::int64_t stride = 1) {
  return {.kind = kinds::Conv{.kernel = {3}, .stride = {stride}},
          .name = name,
          .outputs = channels,
          .activation = Activation::relu};
}

void add_block(Layers& layers, const std::string& name, std::int64_t channels, const std::string& from) {
  layers.push_back(convolution(name + ".1", channels));
  layers.push_back(convolution(name + ".2", channels));
  layers.back().activation = Activation::none;
  layers.push_back({.kind = kinds::Add{}, .name = name, .activation = Activation::relu, .skip_from = from});
}

Layers residual_network() {
  Layers layers = {convolution("down32", 32)};
  for (const std::int64_t channels : {32, 64, 128}) {
    std::string last = fmt::format("down{}", channels);
    if (channels > 32) layers.push_back(convolution(last, channels, 2));
    for (int block = 1; block <= 3; ++block) {
      const std::string name = fmt::format("block{}.{}", channels, block);
      add_block(layers, name, channels, last);
      last = name;
    }
  }
  layers.push_back({.kind = kinds::GlobalPool{}});
  layers.push_back({.kind = kinds::Dense{}});
  return layers;
}

Layers unet() {
  Layers layers;
  const auto add_two = [&](const std::string& name, std::int64_t channels) {
    layers.push_back(convolution(name + ".1", channels));
    layers.push_back(convolution(name, channels));
  };
  for (const std::int64_t channels : {32, 64}) {
    add_two(fmt::format("left{}", channels), channels);
    layers.push_back({.kind = kinds::MaxPool{}});
  }
  add_two("bottom", 128);
  for (const std::int64_t channels : {64, 32}) {
    layers.push_back({.kind = kinds::Upsample{}});
    layers.push_back({.kind = kinds::Concat{}, .skip_from = fmt::format("left{}", channels)});
    add_two(fmt::format("right{}", channels), channels);
  }
  layers.push_back({.kind = kinds::Conv{}, .name = "head", .outputs = 1});
  return layers;
}

/// A network of spectral layers by its name: "fno-64-12". Throws Error (bad_input) for another name.
ModelOptions operator_of(const std::string& name) {
  constexpr std::int64_t width = 32;
  constexpr int longest_kind = 9;
  char kind[longest_kind + 1] = {};
  int points = 0;
  int modes = 0;
  char rest = 0;
  if (std::sscanf(name.c_str(), "%9[a-z]-%d-%d%c", kind, &points, &modes, &rest) != 3 || points < 1 ||
      points > 4096 || (std::string(kind) != "fno" && std::string(kind) != "spectral"))
    fail_input(errors::bad_argument, "\"{}\" is not one of residual, unet, fno-64-12, spectral-64-12", name);
  ModelOptions model;
  model.loss = losses::Mse{};
  if (std::string(kind) == "fno") {
    model.type = ModelType::fno;
    model.shape = {points, points, 1};
    model.modes = {modes};
    model.width = width;
    model.blocks = 4;
    model.activation = Activation::gelu;
    model.outputs = std::int64_t{points} * points;
    return expand_short_form(model);
  }
  model.type = ModelType::chain;
  model.shape = {points, points, width};
  model.chain = {{.kind = kinds::Spectral{.modes = {modes}}, .name = "spectral", .outputs = width}};
  model.outputs = std::int64_t{points} * points * width;
  return model;
}

class OneBatch final : public BatchSource {
 public:
  OneBatch(const Options& options, std::int64_t samples)
      : samples_(samples),
        width_(options.model.inputs),
        type_(options.precision.compute),
        inputs_("inputs", static_cast<std::size_t>(samples * width_) * size_of(type_)),
        labels_("labels", static_cast<std::size_t>(samples)),
        targets_("targets", static_cast<std::size_t>(samples * options.model.outputs)) {
    const Arena floats("floats", static_cast<std::size_t>(samples * width_) * sizeof(float));
    const Tensor values = floats.tensor(0, DType::fp32, samples, width_);
    const RandomStream stream(1, RandomPurpose::sampling, "inputs");
    const auto drawn = [&](std::int64_t i) {
      return 2 * uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i))) - 1;
    };
    for (std::int64_t i = 0; i < values.size(); ++i) values.as<float>()[i] = drawn(i);
    convert(Execution{}, values, inputs());
    for (std::int64_t i = 0; i < samples; ++i)
      labels_(static_cast<std::size_t>(i)) = static_cast<std::int32_t>(i % 10);
    for (std::size_t i = 0; i < targets_.size(); ++i) targets_(i) = drawn(static_cast<std::int64_t>(i));
  }
  MicroBatch next(const Execution&) override {
    return {inputs(), {.labels = labels_.data(), .targets = targets_.data()}, 0};
  }

 private:
  [[nodiscard]] Tensor inputs() const { return inputs_.tensor(0, type_, samples_, width_); }

  std::int64_t samples_;
  std::int64_t width_;
  DType type_;
  Arena inputs_;
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> labels_;
  Kokkos::View<float*, Kokkos::HostSpace> targets_;
};

class ConvolutionalNetwork final : public StepSubject {
 public:
  explicit ConvolutionalNetwork(const std::string& network) {
    ModelOptions& model = options_.model;
    model.type = ModelType::chain;
    if (network == "residual") {
      model.shape = {28, 28, 1};
      model.outputs = 10;
      model.chain = residual_network();
      options_.data.batch = 128;
    } else if (network == "unet") {
      model.shape = {64, 64, 3};
      model.outputs = 64 * 64;
      model.chain = unet();
      model.loss = losses::Mse{};
      options_.data.batch = 16;
    } else {
      model = operator_of(network);
      options_.data.batch = 16;
    }
    model.inputs = model.shape[0] * model.shape[1] * model.shape[2];
  }

  [[nodiscard]] Options options(const std::string& name) const override {
    Options options = options_;
    options.precision.compute = type_of(name);
    options.optimizer.lr = idle_lr;
    return options;
  }
  [[nodiscard]] std::unique_ptr<BatchSource> batch(const Options& options,
                                                   std::int64_t samples) const override {
    return std::make_unique<OneBatch>(options, samples);
  }
  /// For the floor, which has no convolutions.
  [[nodiscard]] StepWork work(DType type) const override {
    StepWork work;
    work.type = type;
    return work;
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  return mylos::run_program(argument_count, arguments, "chain_bench", [](std::vector<std::string>& words) {
    if (words.empty())
      mylos::fail_input(mylos::errors::missing_argument,
                        "a network is missing: residual, unet, fno-64-12 or spectral-64-12");
    const mylos::ConvolutionalNetwork network(words.front());
    return mylos::answer_commands(network, {words.begin() + 1, words.end()});
  });
}
