#include "mylos/kernels/pointwise/quantile_loss.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

struct PinballLoss {
  float level;

  KOKKOS_FORCEINLINE_FUNCTION float value(float p, float t) const {
    const float error = t - p;
    return error >= 0 ? level * error : (level - 1.0f) * error;
  }
  KOKKOS_FORCEINLINE_FUNCTION float slope(float p, float t) const {
    const float error = t - p;
    return error > 0 ? -level : error < 0 ? 1.0f - level : error;  // NaN stays NaN
  }
};

template <class T>
void pinball_of(const Execution& exec, const FieldPoints& field, const QuantileLevels& levels,
                const LossArrays& arrays) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const FieldWeights weights = field.weights;
  const std::int64_t channels = field.channels;
  const std::int64_t numbers = field.points * channels;  // of a sample's targets
  const std::int64_t columns = numbers * levels.count;
  for_each_row(
      exec, "quantile_loss", arrays.predictions.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = arrays.targets + index * numbers;
        const QuantileLevels of = levels;
        const double sum = row.sum(numbers, [=](std::int64_t i) {
          const std::int64_t point = i / channels;
          const T* const at = p + point * (of.count - 1) * channels + i;  // the first level of target i
          double total = 0;
          for (int q = 0; q < of.count; ++q)
            total += static_cast<double>(PinballLoss{of.level[q]}.value(to_float(at[q * channels]), t[i]));
          return weighted(weights.point(point) * weights.number(i), total);
        });
        const double inverse_columns = 1.0 / static_cast<double>(columns);
        if (d_predictions != nullptr) {
          T* d = d_predictions + index * columns;
          const float factor =
              *arrays.loss_scale * arrays.inverse_count * static_cast<float>(inverse_columns);
          row.for_each(numbers, [=](std::int64_t i) {
            const std::int64_t point = i / channels;
            const std::int64_t first = point * (of.count - 1) * channels + i;
            const float weight = factor * weights.point(point) * weights.number(i);
            for (int q = 0; q < of.count; ++q) {
              const std::int64_t at = first + q * channels;
              d[at] = from_float<T>(weighted(weight, PinballLoss{of.level[q]}.slope(to_float(p[at]), t[i])));
            }
          });
        }
        float* const mean_loss = arrays.row_loss + index;
        row.once([=]() { *mean_loss = static_cast<float>(sum * inverse_columns); });
      });
}

template <class T, class To>
void copy_level(const Execution& exec, const FieldPoints& field, std::int64_t count, std::int64_t level,
                const ConstTensor& outputs, const Tensor& to) {
  const std::int64_t channels = field.channels;
  const T* from = outputs.as<T>();
  To* copies = to.as<To>();
  for_each_row(
      exec, "quantiles_at", outputs.rows() * field.points, channels,
      KOKKOS_LAMBDA(std::int64_t point, const Row& row) {
        const T* const of_level = from + (point * count + level) * channels;
        To* const of_point = copies + point * channels;
        row.for_each(channels, [=](std::int64_t c) { of_point[c] = from_float<To>(to_float(of_level[c])); });
      });
}

}  // namespace

QuantileLevels::QuantileLevels(std::span<const double> levels) {
  for (const double each : levels) level[count++] = static_cast<float>(each);
}

void quantile_loss(const Execution& exec, const FieldPoints& field, const QuantileLevels& levels,
                   const LossArrays& arrays) {
  dispatch(arrays.predictions.type(),
           [&](auto type) { pinball_of<typename decltype(type)::type>(exec, field, levels, arrays); });
}

void quantiles_at(const Execution& exec, const FieldPoints& field, std::int64_t count, std::int64_t level,
                  const ConstTensor& outputs, const Tensor& to) {
  dispatch(outputs.type(), [&](auto type) {
    using T = typename decltype(type)::type;
    if (to.type() == outputs.type()) return copy_level<T, T>(exec, field, count, level, outputs, to);
    copy_level<T, float>(exec, field, count, level, outputs, to);
  });
}

}  // namespace mylos
