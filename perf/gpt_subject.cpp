#include "gpt_subject.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/model/network/gpt.hpp"

namespace mylos {
namespace {

class OneBatchOfTokens final : public BatchSource {
 public:
  OneBatchOfTokens(std::int64_t samples, const ModelOptions& model) : rows_(samples * model.context) {
    const auto host = Kokkos::create_mirror_view(tokens_);
    for (std::int64_t i = 0; i <= rows_; ++i) {
      host(static_cast<std::size_t>(i)) = static_cast<std::int32_t>(i * 7 % model.vocabulary);
    }
    Kokkos::deep_copy(tokens_, host);
  }
  MicroBatch next(const Execution&) override {
    return {Tensor(tokens_.data(), DType::int32, rows_, 1), {.labels = tokens_.data() + 1}, 0};
  }

 private:
  std::int64_t rows_;
  Kokkos::View<std::int32_t*, Device> tokens_{"tokens", static_cast<std::size_t>(rows_ + 1)};
};

}  // namespace

GptSubject::GptSubject(const std::string& shape) {
  model_.type = ModelType::gpt;
  model_.vocabulary = 65;
  if (shape == "medium" || shape == "medium12" || shape == "deep") {
    model_.layers = shape == "deep" ? 24 : shape == "medium12" ? 12 : 6;
    model_.heads = 6;
    model_.width = 384;
    model_.context = 256;
    samples_ = 4;
  } else if (shape == "small") {
    model_.layers = 4;
    model_.heads = 4;
    model_.width = 128;
    model_.context = 64;
    samples_ = 12;
  } else {
    fail_input(errors::bad_argument, "\"{}\" is not one of medium, medium12, deep, small", shape);
  }
}

Options GptSubject::options(const std::string& name) const {
  Options options;
  options.model = model_;
  options.data.batch = samples_;
  options.precision.compute = type_of(name);
  options.optimizer.lr = idle_lr;
  return options;
}

std::unique_ptr<BatchSource> GptSubject::batch(const Options& options, std::int64_t samples) const {
  return std::make_unique<OneBatchOfTokens>(samples, options.model);
}

StepWork GptSubject::work(DType type) const {
  const std::int64_t rows = samples_ * model_.context;
  const auto layers = static_cast<int>(model_.layers);
  const std::int64_t width = model_.width;
  const std::int64_t hidden = feed_forward_width(model_);
  StepWork work;
  work.type = type;
  work.add_linear("qkv", rows, width, 3 * width, true, layers);
  work.add_linear("output", rows, width, width, true, layers);
  work.add_linear("up", rows, width, hidden, true, layers);
  work.add_linear("down", rows, hidden, width, true, layers);
  work.add_linear("head", rows, width, model_.vocabulary, true);
  // Two GEMMs forward and four backward, of all positions with all: products above the diagonal count.
  work.other_flops = 6 * layers * flops_of({.m = rows, .n = model_.context, .k = width});
  return work;
}

}  // namespace mylos
