#include "mylos/kernels/loss.hpp"

#include "mylos/kernels/math.hpp"
#include "mylos/kernels/tile_values.hpp"

namespace mylos {
namespace {

/// Of some of a row's logits x: the sum of e^(x - largest). Joined in one pass by Milakov and Gimelshein 2018
/// (arXiv 1805.02867).
struct ExponentialSum {
  float largest = -Kokkos::Experimental::finite_max_v<float>;
  float sum = 0;

  KOKKOS_FUNCTION ExponentialSum& operator+=(const ExponentialSum& other) {
    const float joined = other.largest > largest ? other.largest : largest;
    sum = sum * math::exp(largest - joined) + other.sum * math::exp(other.largest - joined);
    largest = joined;
    return *this;
  }
};

}  // namespace
}  // namespace mylos

/// So that Kokkos joins them within a row.
template <>
struct Kokkos::reduction_identity<mylos::ExponentialSum> {
  KOKKOS_FUNCTION static mylos::ExponentialSum sum() { return {}; }
};

namespace mylos {
namespace {

/// On hosts, whose caches hold a row, in two passes of which each is one loop of vectors.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION ExponentialSum sum_exponentials(const Row& row, const T* x, std::int64_t count) {
  if constexpr (runs_on_host) {
    const float largest = row.max(count, [=](std::int64_t c) { return to_float(x[c]); });
    return {largest, row.sum(count, [=](std::int64_t c) { return math::exp(to_float(x[c]) - largest); })};
  } else {
    return row.sum(launch::ceiling_quotient(count, tile_width), [=](std::int64_t tile) {
      const std::int64_t first = tile * tile_width;
      const std::int64_t width = launch::smaller(tile_width, count - first);
      float buffer[tile_width];
      const auto value = tile_values(x + first, width, buffer);
      ExponentialSum of_tile;
      for_each_in_tile(width, [&](std::int64_t i) {
        of_tile.largest = value[i] > of_tile.largest ? value[i] : of_tile.largest;
      });
      for_each_in_tile(width, [&](std::int64_t i) { of_tile.sum += math::exp(value[i] - of_tile.largest); });
      return of_tile;
    });
  }
}

template <class T>
void cross_entropy(const Execution& exec, const Tensor& logits_tensor, const std::int32_t* labels,
                   const Tensor& d_logits_tensor, const float* loss_scale, float inverse_count,
                   float* row_loss, std::int32_t* row_correct, std::int64_t counted) {
  const T* logits = logits_tensor.as<T>();
  T* d_logits = d_logits_tensor.empty() ? nullptr : d_logits_tensor.as<T>();
  const std::int64_t columns = logits_tensor.columns();
  const std::int64_t classes = counted > 0 ? counted : columns;
  for_each_row(
      exec, "cross_entropy", logits_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* x = logits + index * columns;
        const std::int64_t label = labels[index];
        const bool known = label >= 0 && label < classes;
        const float at_label = known ? to_float(x[label]) : Kokkos::Experimental::quiet_NaN_v<float>;
        const auto [largest, sum] = sum_exponentials(row, x, classes);
        const float loss = Kokkos::log(sum) + (largest - at_label);
        if (row_correct != nullptr) {
          const std::int32_t as_large_before = row.sum(known ? label : 0, [=](std::int64_t c) {
            return static_cast<std::int32_t>(to_float(x[c]) >= at_label);
          });
          // A NaN anywhere makes the loss NaN: such a row is not correct.
          const bool correct = at_label == largest && as_large_before == 0 && loss == loss;
          row.once([=]() { row_correct[index] = static_cast<std::int32_t>(correct); });
        }
        if (d_logits != nullptr) {
          T* d = d_logits + index * columns;
          const float factor = *loss_scale * inverse_count;
          const float inverse_sum = known ? 1.0f / sum : at_label;
          const float highest = largest;
          row.for_each_tile(classes, [=](std::int64_t first, std::int64_t count) {
            float buffer[tile_width];
            float value[tile_width];
            const auto logit = tile_values(x + first, count, buffer);
            for_each_in_tile(count, [&](std::int64_t i) {
              const float probability = math::exp(logit[i] - highest) * inverse_sum;
              value[i] = factor * (probability - (first + i == label ? 1.0f : 0.0f));
            });
            write_tile(value, count, d + first);
          });
          row.for_each(columns - classes, [=](std::int64_t c) { d[classes + c] = from_float<T>(0.0f); });
        }
        row.once([=]() { row_loss[index] = loss; });
      });
}

template <class T>
void squared_error(const Execution& exec, const Tensor& predictions_tensor, const float* targets,
                   const Tensor& d_tensor, const float* loss_scale, float inverse_count, float* row_loss) {
  const T* predictions = predictions_tensor.as<T>();
  T* d_predictions = d_tensor.empty() ? nullptr : d_tensor.as<T>();
  const std::int64_t columns = predictions_tensor.columns();
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, "squared_error", predictions_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = targets + index * columns;
        const float sum = row.sum(columns, [=](std::int64_t c) {
          const float error = to_float(p[c]) - t[c];
          return error * error;
        });
        if (d_predictions != nullptr) {
          T* d = d_predictions + index * columns;
          const float factor = *loss_scale * inverse_count * (2.0f * inverse_columns);
          row.for_each(columns,
                       [=](std::int64_t c) { d[c] = from_float<T>(factor * (to_float(p[c]) - t[c])); });
        }
        row.once([=]() { row_loss[index] = sum * inverse_columns; });
      });
}

template <class Value, class Sum>
void add_rows(const Execution& exec, const Value* values, std::int64_t count, Sum* sum) {
  for_each_row(
      exec, "sum_rows", 1, count, KOKKOS_LAMBDA(std::int64_t, const Row& row) {
        const Sum total = row.sum(count, [=](std::int64_t i) { return static_cast<Sum>(values[i]); });
        row.once([=]() { *sum += total; });
      });
}

}  // namespace

void softmax_cross_entropy(const Execution& exec, const Tensor& logits, const std::int32_t* labels,
                           const Tensor& d_logits, const float* loss_scale, float inverse_count,
                           float* row_loss, std::int32_t* row_correct, std::int64_t classes) {
  dispatch(logits.type(), [&](auto type) {
    cross_entropy<typename decltype(type)::type>(exec, logits, labels, d_logits, loss_scale, inverse_count,
                                                 row_loss, row_correct, classes);
  });
}

void mean_squared_error(const Execution& exec, const Tensor& predictions, const float* targets,
                        const Tensor& d_predictions, const float* loss_scale, float inverse_count,
                        float* row_loss) {
  dispatch(predictions.type(), [&](auto type) {
    squared_error<typename decltype(type)::type>(exec, predictions, targets, d_predictions, loss_scale,
                                                 inverse_count, row_loss);
  });
}

void sum_rows(const Execution& exec, const float* values, std::int64_t count, double* sum) {
  add_rows(exec, values, count, sum);
}

void sum_rows(const Execution& exec, const std::int32_t* values, std::int64_t count, std::int64_t* sum) {
  add_rows(exec, values, count, sum);
}

}  // namespace mylos
