#include "mylos/kernels/pointwise/quantile_loss.hpp"

#include "mylos/kernels/pointwise/fields/weighted_numbers.hpp"

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

struct PinballOfLevels {
  explicit PinballOfLevels(const QuantileLevels& quantiles) : outputs(quantiles.count), levels(quantiles) {}

  static constexpr bool mean_over_outputs = true;
  static constexpr bool sums_numbers = true;
  std::int64_t outputs;
  QuantileLevels levels;

  template <class Outputs>
  KOKKOS_FORCEINLINE_FUNCTION double loss(const Outputs& p, float t) const {
    double total = 0;
    for (int q = 0; q < levels.count; ++q)
      total += static_cast<double>(PinballLoss{levels.level[q]}.value(p(q), t));
    return total;
  }
  template <class Outputs, class Write>
  KOKKOS_FORCEINLINE_FUNCTION void slopes(const Outputs& p, float t, const Write& write) const {
    for (int q = 0; q < levels.count; ++q) write(q, PinballLoss{levels.level[q]}.slope(p(q), t));
  }
};

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
  weighted_mean(exec, "quantile_loss", field, arrays, PinballOfLevels(levels));
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
