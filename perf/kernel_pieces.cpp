#include <fmt/format.h>

#include "mylos/comm/group/agreement.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/kernels/pointwise/embedding.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/precision/gradient_check.hpp"
#include "pieces.hpp"

namespace mylos::pieces {
namespace {

using std::size_t;

/// Times a kernel that reads and writes `bytes` in total, each once.
void measure(const Subject& subject, const std::string& kernel, size_t bytes,
             const std::function<void(const Execution&)>& enqueue) {
  const Execution exec;
  const double milliseconds = milliseconds_of(exec, subject.seconds, [&] { enqueue(exec); });
  print_line(kernel, std::string(name_of(subject.type)), milliseconds,
             fmt::format("{:.0f} GB/s", 1e-6 * static_cast<double>(bytes) / milliseconds));
}

size_t bytes_of(std::initializer_list<const Matrix*> matrices) {
  size_t total = 0;
  for (const Matrix* const matrix : matrices) total += matrix->tensor().bytes();
  return total;
}

/// Numbers below `end` in no order, each about the same number of times.
Kokkos::View<std::int32_t*, Device> shuffled_tokens(std::int64_t count, std::int64_t end) {
  const Kokkos::View<std::int32_t*, Device> tokens("tokens", static_cast<size_t>(count));
  const auto host = Kokkos::create_mirror_view(tokens);
  for (size_t i = 0; i < host.extent(0); ++i)
    host(i) = static_cast<std::int32_t>(i * 40503 % static_cast<size_t>(end));
  Kokkos::deep_copy(tokens, host);
  return tokens;
}

Kokkos::View<float*, Device> one() {
  const Kokkos::View<float*, Device> value("one", 1);
  Kokkos::deep_copy(value, 1.0f);
  return value;
}

void loss(const Subject& subject) {
  const Matrix logits(subject.type, subject.rows(), subject.vocabulary, 1);
  const Matrix d_logits(subject.type, subject.rows(), subject.vocabulary, 2);
  const auto labels = shuffled_tokens(subject.rows(), subject.vocabulary);
  const Kokkos::View<float*, Device> losses("losses", labels.extent(0));
  const Kokkos::View<std::int32_t*, Device> correct("correct", labels.extent(0));
  const auto scale = one();
  for (const float smoothing : {0.0f, 0.1f}) {
    measure(subject, smoothing > 0 ? "smoothed loss and gradient" : "loss and gradient",
            bytes_of({&logits, &d_logits}), [&](const Execution& exec) {
              softmax_cross_entropy(exec, logits.tensor(), labels.data(), d_logits.tensor(), scale.data(),
                                    1.0f, losses.data(), correct.data(), 0, {.smoothing = smoothing});
            });
  }
}

void gelu(const Subject& subject) {
  const Matrix in(subject.type, subject.rows(), 4 * subject.width(), 1);
  const Matrix out(subject.type, subject.rows(), 4 * subject.width(), 2);
  for (const Activation activation : {Activation::gelu_tanh, Activation::gelu}) {
    const std::string name = activation == Activation::gelu ? "gelu" : "gelu_tanh";
    measure(subject, name, bytes_of({&in, &out}), [&](const Execution& exec) {
      activation_forward(exec, activation, in.tensor(), out.tensor(), {});
    });
    measure(subject, name + " gradient", bytes_of({&in, &out, &out}), [&](const Execution& exec) {
      activation_backward(exec, activation, in.tensor(), out.tensor(), out.tensor(), {}, false, {});
    });
  }
}

void embedding(const Subject& subject) {
  const Matrix rows(subject.type, subject.rows(), subject.width(), 1);
  const Matrix token_weight(subject.type, subject.vocabulary, subject.width(), 2);
  const Matrix position_weight(subject.type, subject.context, subject.width(), 3);
  const Matrix d_token(DType::fp32, subject.vocabulary, subject.width(), 4);
  const auto tokens = shuffled_tokens(subject.rows(), subject.vocabulary);
  const Arena workspace("workspace", embedding_backward_workspace(subject.rows(), subject.vocabulary));
  measure(subject, "embedding", bytes_of({&rows, &rows}), [&](const Execution& exec) {
    embedding_forward(exec, tokens.data(), subject.context, token_weight.tensor(), position_weight.tensor(),
                      rows.tensor(), {});
  });
  // As in a GPT with tied weights, the gradient is added to that of the head.
  measure(subject, "embedding gradient", bytes_of({&rows, &rows, &d_token, &d_token}),
          [&](const Execution& exec) {
            embedding_backward(exec, tokens.data(), subject.context, rows.tensor(), d_token.tensor(),
                               position_weight.tensor(), true, false, {}, workspace.data());
          });
}

/// The parameters of a GPT of twelve layers, whose embedding and head share weights.
ParameterLayout gpt_parameters(const Subject& subject) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = 12;
  model.heads = subject.heads;
  model.width = subject.width();
  model.context = subject.context;
  model.vocabulary = subject.vocabulary;
  PrecisionOptions precision;
  precision.compute = subject.type;
  return make_parameter_layout(make_gpt(model, precision, 1, false), 0, 1);
}

void optimizer(const Subject& subject) {
  ParameterStore store(gpt_parameters(subject));
  const ParameterLayout& layout = store.layout();
  store.initialize(Execution(), 1);
  const std::vector<float> divisors(layout.buckets.size(), 1.0f);
  std::vector<Tensor> gradients;
  for (size_t bucket = 0; bucket < layout.buckets.size(); ++bucket)
    gradients.push_back(store.held_gradients(bucket));
  const GradientCheck check(gradients, divisors, 0);
  const AgreementBuffer agreement(0, 1);
  const auto scale = one();
  measure(subject, "check of gradients", layout.gradient_bytes,
          [&](const Execution& exec) { check.run(exec, scale.data(), agreement); });
  const Optimizer adamw({}, store, divisors);
  const Kokkos::View<UpdateControl, Device> control("control");
  Kokkos::deep_copy(control, UpdateControl{.apply = 1, .gradient_factor = 1, .lr = 1e-3f});
  // Masters and two moments are read and written.
  const size_t bytes = layout.gradient_bytes + layout.compute_bytes + 6 * layout.master_bytes();
  measure(subject, "update (AdamW)", bytes,
          [&](const Execution& exec) { adamw.update(exec, control.data()); });
}

}  // namespace

void measure_kernels(const Subject& subject) {
  for (const auto measure_some : {loss, gelu, embedding, optimizer}) measure_some(subject);
}

}  // namespace mylos::pieces
