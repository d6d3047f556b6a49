#include <fmt/format.h>

#include <algorithm>

#include "mylos/comm/group/agreement.hpp"
#include "mylos/kernels/gemm/gemm_row_sums.hpp"
#include "mylos/kernels/norm/layernorm.hpp"
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

/// Weights of the rows' type: the kernels that hold rows in registers; others: those that do not.
void norm(const Subject& subject) {
  const auto rows = [&](int pattern) {
    return Matrix(subject.type, subject.rows(), subject.width(), pattern);
  };
  const Matrix x = rows(1), branch = rows(2), y = rows(3), dy = rows(4), dx = rows(5);
  const Matrix mean(DType::fp32, 1, subject.rows(), 6);
  const Matrix rstd(DType::fp32, 1, subject.rows(), 7);
  const Arena workspace("workspace", layernorm_backward_workspace(subject.rows(), subject.width()));
  measure(subject, "residual", bytes_of({&x, &branch, &y}), [&](const Execution& exec) {
    residual_forward(exec, x.tensor(), branch.tensor(), y.tensor(), {});
  });
  for (const DType weights : {subject.type, subject.type == DType::fp32 ? DType::bf16 : DType::fp32}) {
    const Matrix gamma(weights, 1, subject.width(), 8);
    const Matrix beta(weights, 1, subject.width(), 9);
    const Matrix d_gamma(weights, 1, subject.width(), 10);
    const Matrix d_beta(weights, 1, subject.width(), 11);
    const std::string of = weights == subject.type ? "" : fmt::format(", weights in {}", name_of(weights));
    auto* const means = mean.tensor().as<float>();
    auto* const inverses = rstd.tensor().as<float>();
    measure(subject, "norm" + of, bytes_of({&x, &y}), [&](const Execution& exec) {
      layernorm_forward(exec, x.tensor(), gamma.tensor(), beta.tensor(), y.tensor(), means, inverses, 1e-5f);
    });
    measure(subject, "norm of a residual" + of, bytes_of({&x, &branch, &x, &y}), [&](const Execution& exec) {
      layernorm_forward_of_sum(exec, {x.tensor(), branch.tensor(), dx.tensor()}, gamma.tensor(),
                               beta.tensor(), y.tensor(), means, inverses, 1e-5f);
    });
    measure(subject, "norm gradient" + of, bytes_of({&x, &dy, &branch, &dx}), [&](const Execution& exec) {
      layernorm_backward(exec, x.tensor(), dy.tensor(), gamma.tensor(), means, inverses, dx.tensor(),
                         d_gamma.tensor(), d_beta.tensor(), false, workspace.data(), branch.tensor());
    });
  }
}

/// Gradients of biases: in two stages as after a GEMM, and in one as without a library's GEMMs.
void column_sums(const Subject& subject) {
  for (const std::int64_t columns : {subject.width(), 3 * subject.width(), 4 * subject.width()}) {
    const Matrix rows(subject.type, subject.rows(), columns, 1);
    const Matrix sums(subject.type, 1, columns, 2);
    const GemmProblem problem =
        linear_weight_gradient(subject.rows(), 1, columns, subject.type, subject.type);
    const Arena workspace("workspace", std::max<size_t>(256, long_column_sums_workspace));
    measure(subject, fmt::format("sums of {} columns", columns), bytes_of({&rows}),
            [&](const Execution& exec) {
              sum_rows_of_a(exec, problem, rows.data(), sums.data(), workspace.data());
            });
    measure(subject, fmt::format("sums of {} columns, one stage", columns), bytes_of({&rows}),
            [&](const Execution& exec) {
              residual_backward(exec, rows.tensor(), rows.tensor(), sums.tensor(), false, {});
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
  for (const auto measure_some : {loss, gelu, norm, column_sums, embedding, optimizer}) measure_some(subject);
}

}  // namespace mylos::pieces
