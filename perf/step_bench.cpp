// The whole training step of an MLP 784-2048-2048-10 at batch 512 with AdamW, on the commands of
// step_program.hpp. NAME: fp32, bf16, fp16, fp16-off (without the loss scaler).
#include <mpi.h>

#include "mylos/base/random.hpp"
#include "mylos/kernels/convert.hpp"
#include "step_program.hpp"

namespace mylos {
namespace {

constexpr std::int64_t samples = 512;
const std::vector<std::int64_t> widths = {784, 2048, 2048, 10};

class OneBatch final : public BatchSource {
 public:
  explicit OneBatch(DType type)
      : inputs_("inputs", static_cast<std::size_t>(samples * widths.front()) * size_of(type)),
        labels_("labels", static_cast<std::size_t>(samples)),
        type_(type) {
    const Arena floats("floats", static_cast<std::size_t>(samples * widths.front()) * sizeof(float));
    const Tensor values = floats.tensor(0, DType::fp32, samples, widths.front());
    const RandomStream stream(1, RandomPurpose::sampling, "inputs");
    for (std::int64_t i = 0; i < values.size(); ++i) {
      values.as<float>()[i] = 2 * uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i))) - 1;
    }
    convert(Execution{}, values, inputs());
    for (std::int64_t i = 0; i < samples; ++i) {
      labels_(static_cast<std::size_t>(i)) = static_cast<std::int32_t>(i % widths.back());
    }
  }
  MicroBatch next(const Execution&) override { return {inputs(), {.labels = labels_.data()}, 0}; }

 private:
  [[nodiscard]] Tensor inputs() const { return inputs_.tensor(0, type_, samples, widths.front()); }

  Arena inputs_;
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> labels_;
  DType type_;
};

class Mlp final : public StepSubject {
 public:
  [[nodiscard]] Options options(const std::string& name) const override {
    Options options;
    options.model.inputs = widths.front();
    options.model.hidden.assign(widths.begin() + 1, widths.end() - 1);
    options.model.outputs = widths.back();
    options.data.batch = samples;
    options.precision.compute = type_of(name);
    if (name.ends_with("-off")) options.precision.scaler.mode = ScalerMode::off;
    options.optimizer.lr = idle_lr;
    return options;
  }
  [[nodiscard]] std::unique_ptr<BatchSource> batch(const Options& options) const override {
    return std::make_unique<OneBatch>(options.precision.compute);
  }
  [[nodiscard]] StepWork work(DType type) const override {
    StepWork work;
    work.type = type;
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
      work.add_linear(std::to_string(layer), samples, widths[layer], widths[layer + 1], layer > 0);
    }
    return work;
  }
};

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int exit_code = 0;
  {
    const Kokkos::ScopeGuard kokkos(argument_count, arguments);
    exit_code = mylos::answer_commands(mylos::Mlp(), {arguments + 1, arguments + argument_count});
  }
  MPI_Finalize();
  return exit_code;
}
