#include "mylos/kernels/pointwise/loss.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/pointwise/cross_entropy.hpp"

namespace mylos {
namespace {

template <class Value, class Sum>
void add_rows(const Execution& exec, const Value* values, std::int64_t count, Sum* sum) {
  for_each_row(
      exec, "sum_rows", 1, count, KOKKOS_LAMBDA(std::int64_t, const Row& row) {
        const Sum total = row.sum(count, [=](std::int64_t i) { return static_cast<Sum>(values[i]); });
        row.once([=]() { *sum += total; });
      });
}

}  // namespace

void softmax_cross_entropy(const Execution& exec, const ConstTensor& logits, const std::int32_t* labels,
                           const Tensor& d_logits, const float* loss_scale, float inverse_count,
                           float* row_loss, std::int32_t* row_correct, std::int64_t classes,
                           const ClassificationOptions& options) {
  dispatch(logits.type(), [&](auto type) {
    cross_entropy::of_rows<typename decltype(type)::type>(
        exec, logits, labels, d_logits, loss_scale, inverse_count, row_loss, row_correct, classes, options);
  });
}

void sum_rows(const Execution& exec, const float* values, std::int64_t count, double* sum) {
  add_rows(exec, values, count, sum);
}

void sum_rows(const Execution& exec, const std::int32_t* values, std::int64_t count, std::int64_t* sum) {
  add_rows(exec, values, count, sum);
}

}  // namespace mylos
