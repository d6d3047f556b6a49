#include <fmt/format.h>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/pointwise/cross_entropy.hpp"
#include "mylos/model/network/classifier.hpp"
#include "pieces.hpp"

namespace mylos::pieces {
namespace {

template <class T>
struct OneValue {
  explicit OneValue(T value) { Kokkos::deep_copy(view, value); }
  Kokkos::View<T, Device> view{"value"};
};

Kokkos::View<std::int32_t*, Device> labels_of(const Subject& subject) {
  const Kokkos::View<std::int32_t*, Device> labels("labels", static_cast<std::size_t>(subject.rows()));
  const auto host = Kokkos::create_mirror_view(labels);
  for (std::size_t i = 0; i < host.extent(0); ++i)
    host(i) = static_cast<std::int32_t>(i * 40503 % static_cast<std::size_t>(subject.vocabulary));
  Kokkos::deep_copy(labels, host);
  return labels;
}

void measure_classifier(const Subject& subject, const std::int32_t* labels, std::size_t chunk_bytes) {
  ClassifierOptions options;
  options.width = subject.width();
  options.classes = subject.vocabulary;
  options.input_type = options.type = subject.type;
  if (chunk_bytes > 0) options.chunk_bytes = chunk_bytes;
  const Classifier classifier(options);
  const auto engines = make_engines({});
  const std::int64_t rows = subject.rows();
  const Matrix input(subject.type, rows, options.width, 1);
  const Matrix d_input(subject.type, rows, options.width, 2);
  const Matrix weight(subject.type, options.classes, options.width, 3);
  const Matrix d_weight(DType::fp32, options.classes, options.width, 4);
  const Arena workspace("workspace", classifier.cost(*engines, rows).workspace);
  const OneValue<LossSums> sums(LossSums{});
  const OneValue<float> scale(1.0f);
  const Execution exec;
  const StepContext context{.exec = exec, .engines = *engines};
  const std::vector<NamedTensor> weights{{"weight", weight.tensor()}};
  const std::vector<NamedTensor> weight_gradients{{"weight", d_weight.tensor()}};
  const LossMemory memory{.weights = weights, .input = input.tensor(), .workspace = workspace.data()};
  const LossGradients gradients{.weights = weight_gradients,
                                .input = d_input.tensor(),
                                .scale = scale.view.data(),
                                .inverse_count = 1.0f / static_cast<float>(rows)};
  const double milliseconds = milliseconds_of(exec, subject.seconds, [&] {
    classifier.evaluate_and_seed(context, memory, {.labels = labels}, gradients, sums.view.data());
  });
  const std::int64_t chunk = classifier.chunk_rows(rows);
  print_line("classifier and loss", fmt::format("{} rows of logits at a time", chunk), milliseconds,
             fmt::format("{} chunks; GEMMs at {:.1f} TFLOP/s if they were all", (rows + chunk - 1) / chunk,
                         1e-9 * classifier.cost(*engines, rows).flops / milliseconds));
}

template <class T, class Exponential>
void measure_loss(const Subject& subject, const std::int32_t* labels, const char* variant) {
  const std::int64_t rows = std::min<std::int64_t>(subject.rows(), 8192);  // more would show nothing else
  const Matrix logits(subject.type, rows, subject.vocabulary, 1);
  const Matrix d_logits(subject.type, rows, subject.vocabulary, 2);
  const Kokkos::View<float*, Device> losses("losses", static_cast<std::size_t>(rows));
  const Kokkos::View<std::int32_t*, Device> correct("correct", static_cast<std::size_t>(rows));
  const OneValue<float> scale(1.0f);
  const Execution exec;
  const double milliseconds = milliseconds_of(exec, subject.seconds, [&] {
    cross_entropy::of_rows<T, Exponential>(exec, logits.tensor(), labels, d_logits.tensor(),
                                           scale.view.data(), 1.0f / static_cast<float>(rows), losses.data(),
                                           correct.data(), 0, {});
  });
  const double bytes = 2.0 * static_cast<double>(logits.tensor().bytes());
  print_line(fmt::format("loss of {} rows", rows), variant, milliseconds,
             fmt::format("{:.0f} GB/s", 1e-6 * bytes / milliseconds));
}

}  // namespace

void measure_head(const Subject& subject) {
  const auto labels = labels_of(subject);
  const std::size_t all =
      static_cast<std::size_t>(subject.rows() * subject.vocabulary) * size_of(subject.type);
  measure_classifier(subject, labels.data(), 0);
  for (const std::size_t part : {4u, 2u, 1u}) measure_classifier(subject, labels.data(), all / part);
  dispatch(subject.type, [&]<class T>(TypeTag<T>) {
    measure_loss<T, cross_entropy::PortableExponential>(subject, labels.data(), "portable exponentials");
    measure_loss<T, cross_entropy::HardwareExponential>(subject, labels.data(), "hardware exponentials");
  });
}

}  // namespace mylos::pieces
