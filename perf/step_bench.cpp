// Measures the complete training step of an MLP with AdamW, by the commands of step_program.hpp.
//
//   step_bench [--network wide|fashion] [--instructions NAME] [COMMAND]
//
//   wide      784-2048-2048-10, batch 512
//   fashion   784-1024-1024-10, batch 256, dropout and clipping: the network of inputs/fashion_mlp.toml
//
// NAME: fp32, bf16, fp16, fp16-off (without the loss scaler).
#include "commands.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/convert.hpp"
#include "step_program.hpp"

namespace mylos {
namespace {

/// The options of the network, without type and learning rate.
Options options_of(const std::string& network) {
  Options options;
  options.model.inputs = 784;
  options.model.outputs = 10;
  if (network == "wide") {
    options.model.hidden = {2048, 2048};
    options.data.batch = 512;
  } else if (network == "fashion") {
    options.model.hidden = {1024, 1024};
    options.model.dropout = 0.2;
    options.data.batch = 256;
    options.optimizer.clip_norm = 1;
  } else {
    fail_input(errors::bad_argument, "\"{}\" is not one of wide, fashion", network);
  }
  return options;
}

class OneBatch final : public BatchSource {
 public:
  OneBatch(const Options& options, std::int64_t samples)
      : samples_(samples),
        width_(options.model.inputs),
        inputs_("inputs", static_cast<std::size_t>(samples * width_) * size_of(options.precision.compute)),
        labels_("labels", static_cast<std::size_t>(samples)),
        type_(options.precision.compute) {
    const Arena floats("floats", static_cast<std::size_t>(samples * width_) * sizeof(float));
    const Tensor values = floats.tensor(0, DType::fp32, samples, width_);
    const RandomStream stream(1, RandomPurpose::sampling, "inputs");
    for (std::int64_t i = 0; i < values.size(); ++i) {
      values.as<float>()[i] = 2 * uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i))) - 1;
    }
    convert(Execution{}, values, inputs());
    for (std::int64_t i = 0; i < samples; ++i) {
      labels_(static_cast<std::size_t>(i)) = static_cast<std::int32_t>(i % options.model.outputs);
    }
  }
  MicroBatch next(const Execution&) override { return {inputs(), {.labels = labels_.data()}, 0}; }

 private:
  [[nodiscard]] Tensor inputs() const { return inputs_.tensor(0, type_, samples_, width_); }

  std::int64_t samples_;
  std::int64_t width_;
  Arena inputs_;
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> labels_;
  DType type_;
};

class Mlp final : public StepSubject {
 public:
  explicit Mlp(const std::string& network) : options_(options_of(network)) {}

  [[nodiscard]] Options options(const std::string& name) const override {
    Options options = options_;
    options.precision.compute = type_of(name);
    if (name.ends_with("-off")) options.precision.scaler.mode = ScalerMode::off;
    options.optimizer.lr = idle_lr;
    return options;
  }
  [[nodiscard]] std::unique_ptr<BatchSource> batch(const Options& options,
                                                   std::int64_t samples) const override {
    return std::make_unique<OneBatch>(options, samples);
  }
  [[nodiscard]] StepWork work(DType type) const override {
    std::vector<std::int64_t> widths = options_.model.hidden;
    widths.insert(widths.begin(), options_.model.inputs);
    widths.push_back(options_.model.outputs);
    StepWork work;
    work.type = type;
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
      work.add_linear(std::to_string(layer), options_.data.batch, widths[layer], widths[layer + 1],
                      layer > 0);
    }
    return work;
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  return mylos::run_program(argument_count, arguments, "step_bench", [](std::vector<std::string>& words) {
    const mylos::Mlp network(mylos::take_option(words, "--network").value_or("wide"));
    return mylos::answer_commands(network, words);
  });
}
