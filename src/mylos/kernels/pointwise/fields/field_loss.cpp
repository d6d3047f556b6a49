#include "mylos/kernels/pointwise/fields/field_loss.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/pointwise/target_errors.hpp"

namespace mylos {
namespace {

/// The channels [first, first + width) of a sample, over which a norm is taken.
struct ChannelGroups {
  std::int64_t count;
  std::int64_t width;
};

ChannelGroups groups_of(const FieldPoints& field, bool per_channel) {
  return per_channel ? ChannelGroups{field.channels, 1} : ChannelGroups{1, field.channels};
}

/// Returns the weighted sum of term(i) over the numbers i of the channels [first, first + width) of all
/// points.
template <class Term>
KOKKOS_FORCEINLINE_FUNCTION double weighted_sum(const Row& row, const FieldPoints& field, std::int64_t first,
                                                std::int64_t width, const Term& term) {
  const FieldWeights weights = field.weights;
  const std::int64_t channels = field.channels;
  return row.sum(field.points, [=](std::int64_t point) {
    double sum = 0;
    for (std::int64_t i = point * channels + first; i < point * channels + first + width; ++i)
      sum += weighted(weights.number(i), term(i));
    return weighted(weights.point(point), sum);
  });
}

template <class T, class Loss>
void weighted_mean(const Execution& exec, KernelName name, const FieldPoints& field, const LossArrays& arrays,
                   const Loss& loss) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const FieldWeights weights = field.weights;
  const std::int64_t points = field.points;
  const std::int64_t channels = field.channels;
  const std::int64_t columns = points * channels;
  for_each_row(
      exec, name, arrays.predictions.rows(), columns, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = arrays.targets + index * columns;
        const Loss of = loss;
        const double sum = row.sum(points, [=](std::int64_t point) {
          double total = 0;
          for (std::int64_t c = point * channels; c < (point + 1) * channels; ++c)
            total += weighted(weights.number(c), static_cast<double>(of.value(to_float(p[c]), t[c])));
          return weighted(weights.point(point), total);
        });
        const double inverse_columns = 1.0 / static_cast<double>(columns);
        if (d_predictions != nullptr) {
          T* d = d_predictions + index * columns;
          const float factor =
              *arrays.loss_scale * arrays.inverse_count * static_cast<float>(inverse_columns);
          row.for_each(points, [=](std::int64_t point) {
            const float of_point = factor * weights.point(point);
            for (std::int64_t c = point * channels; c < (point + 1) * channels; ++c)
              d[c] = from_float<T>(weighted(of_point * weights.number(c), of.slope(to_float(p[c]), t[c])));
          });
        }
        float* const mean = arrays.row_loss + index;
        row.once([=]() { *mean = static_cast<float>(sum * inverse_columns); });
      });
}

template <class Loss>
void weighted_mean_of(const Execution& exec, KernelName name, const FieldPoints& field,
                      const LossArrays& arrays, const Loss& loss) {
  dispatch(arrays.predictions.type(),
           [&](auto type) { weighted_mean<typename decltype(type)::type>(exec, name, field, arrays, loss); });
}

template <class T>
void relative_l2(const Execution& exec, const FieldPoints& field, ChannelGroups groups,
                 const LossArrays& arrays) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const FieldWeights weights = field.weights;
  const std::int64_t points = field.points;
  const std::int64_t channels = field.channels;
  const std::int64_t columns = points * channels;
  for_each_row(
      exec, "relative_l2", arrays.predictions.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = arrays.targets + index * columns;
        const double inverse_groups = 1.0 / static_cast<double>(groups.count);
        double total = 0;
        for (std::int64_t group = 0; group < groups.count; ++group) {
          const std::int64_t first = group * groups.width;
          const std::int64_t width = groups.width;
          const double error = Kokkos::sqrt(weighted_sum(row, field, first, width, [=](std::int64_t i) {
            return static_cast<double>(SquaredError::value(to_float(p[i]), t[i]));
          }));
          const double norm = Kokkos::sqrt(weighted_sum(row, field, first, width, [=](std::int64_t i) {
            return static_cast<double>(t[i]) * static_cast<double>(t[i]);
          }));
          const double share = (norm > 0 ? 1.0 / norm : 1.0) * inverse_groups;
          if (d_predictions != nullptr) {
            T* d = d_predictions + index * columns;
            const auto inverse_error = static_cast<float>(error == 0 ? 0.0 : 1.0 / error);
            const float factor = *arrays.loss_scale * arrays.inverse_count * static_cast<float>(share);
            row.for_each(points, [=](std::int64_t point) {
              const float of_point = inverse_error * weights.point(point);
              for (std::int64_t c = point * channels + first; c < point * channels + first + width; ++c)
                d[c] = from_float<T>(factor * weighted(of_point * weights.number(c), to_float(p[c]) - t[c]));
            });
          }
          total += error * share;
        }
        float* const loss = arrays.row_loss + index;
        row.once([=]() { *loss = static_cast<float>(total); });
      });
}

/// The axes of a grid with derivatives of one kind.
template <Derivative D>
struct Slopes {
  explicit Slopes(const FieldDerivatives& derivatives) : axes(derivatives.axes) {
    for (int a = 0; a < axes; ++a) {
      axis[a] = AxisSlope<D>(derivatives.axis[a]);
      weights[a] = derivatives.axis[a].weights;
    }
  }

  int axes;
  AxisSlope<D> axis[FieldDerivatives::max_axes];
  FieldWeights weights[FieldDerivatives::max_axes] = {};
};

template <class T, Derivative D>
void relative_h1(const Execution& exec, const FieldPoints& field, const Slopes<D>& slopes,
                 ChannelGroups groups, const LossArrays& arrays, float* workspace) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const FieldWeights weights = field.weights;
  const std::int64_t points = field.points;
  const std::int64_t channels = field.channels;
  const std::int64_t columns = points * channels;
  for_each_row(
      exec, "relative_h1", arrays.predictions.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = arrays.targets + index * columns;
        float* const errors = workspace + index * columns * (1 + slopes.axes);
        row.for_each(columns, [=](std::int64_t c) { errors[c] = to_float(p[c]) - t[c]; });
        row.barrier();
        const double inverse_groups = 1.0 / static_cast<double>(groups.count);
        double total = 0;
        for (std::int64_t group = 0; group < groups.count; ++group) {
          const std::int64_t first = group * groups.width;
          const std::int64_t last = first + groups.width;
          double error = weighted_sum(row, field, first, groups.width, [=](std::int64_t i) {
            return static_cast<double>(errors[i]) * static_cast<double>(errors[i]);
          });
          double norm = weighted_sum(row, field, first, groups.width, [=](std::int64_t i) {
            return static_cast<double>(t[i]) * static_cast<double>(t[i]);
          });
          for (int a = 0; a < slopes.axes; ++a) {
            const AxisSlope<D> axis = slopes.axis[a];
            const FieldWeights of_axis = slopes.weights[a];
            float* const weighted_slopes = errors + (1 + a) * columns;
            error += row.sum(points, [=](std::int64_t point) {
              const float weight = of_axis.point(point);
              double sum = 0;
              for (std::int64_t k = first; k < last; ++k) {
                const float slope =
                    axis.of([=](std::int64_t at) { return errors[at * channels + k]; }, point);
                const float own = of_axis.number(point * channels + k);
                weighted_slopes[point * channels + k] = weighted(weight * own, slope);
                sum += weighted(own, static_cast<double>(slope) * static_cast<double>(slope));
              }
              return weighted(weight, sum);
            });
            norm += row.sum(points, [=](std::int64_t point) {
              double sum = 0;
              for (std::int64_t k = first; k < last; ++k) {
                const float slope = axis.of([=](std::int64_t at) { return t[at * channels + k]; }, point);
                sum += weighted(of_axis.number(point * channels + k),
                                static_cast<double>(slope) * static_cast<double>(slope));
              }
              return weighted(of_axis.point(point), sum);
            });
          }
          const double size = Kokkos::sqrt(error);
          const double share = (norm > 0 ? 1.0 / Kokkos::sqrt(norm) : 1.0) * inverse_groups;
          if (d_predictions != nullptr) {
            row.barrier();
            T* d = d_predictions + index * columns;
            const auto inverse_size = static_cast<float>(size == 0 ? 0.0 : 1.0 / size);
            const float factor = *arrays.loss_scale * arrays.inverse_count * static_cast<float>(share);
            const Slopes<D> of = slopes;
            row.for_each(points, [=](std::int64_t point) {
              for (std::int64_t k = first; k < last; ++k) {
                const std::int64_t number = point * channels + k;
                float sum = weighted(weights.point(point) * weights.number(number), errors[number]);
                for (int a = 0; a < of.axes; ++a) {
                  const float* const slopes_of_axis = errors + (1 + a) * columns;
                  sum += of.axis[a].transposed(
                      [=](std::int64_t at) { return slopes_of_axis[at * channels + k]; }, point);
                }
                d[number] = from_float<T>(factor * (sum * inverse_size));
              }
            });
          }
          total += size * share;
        }
        float* const loss = arrays.row_loss + index;
        row.once([=]() { *loss = static_cast<float>(total); });
      });
}

template <Derivative D>
void relative_h1_by(const Execution& exec, const FieldPoints& field, const FieldDerivatives& derivatives,
                    bool per_channel, const LossArrays& arrays, float* workspace) {
  const Slopes<D> slopes(derivatives);
  dispatch(arrays.predictions.type(), [&](auto type) {
    relative_h1<typename decltype(type)::type>(exec, field, slopes, groups_of(field, per_channel), arrays,
                                               workspace);
  });
}

}  // namespace

void weighted_squared_error(const Execution& exec, const FieldPoints& field, const LossArrays& arrays) {
  weighted_mean_of(exec, "weighted_square", field, arrays, SquaredError{});
}

void weighted_absolute_error(const Execution& exec, const FieldPoints& field, const LossArrays& arrays) {
  weighted_mean_of(exec, "weighted_error", field, arrays, AbsoluteError{});
}

void weighted_huber_loss(const Execution& exec, const FieldPoints& field, const LossArrays& arrays,
                         float delta) {
  weighted_mean_of(exec, "weighted_huber", field, arrays, HuberLoss{delta});
}

void relative_l2_of_field(const Execution& exec, const FieldPoints& field, bool per_channel,
                          const LossArrays& arrays) {
  dispatch(arrays.predictions.type(), [&](auto type) {
    relative_l2<typename decltype(type)::type>(exec, field, groups_of(field, per_channel), arrays);
  });
}

void relative_h1_of_field(const Execution& exec, const FieldPoints& field,
                          const FieldDerivatives& derivatives, bool per_channel, const LossArrays& arrays,
                          float* workspace) {
  switch (derivatives.derivative) {
    case Derivative::differences:
      return relative_h1_by<Derivative::differences>(exec, field, derivatives, per_channel, arrays,
                                                     workspace);
    case Derivative::one_sided:
      return relative_h1_by<Derivative::one_sided>(exec, field, derivatives, per_channel, arrays, workspace);
    case Derivative::spectral:
      break;
  }
  relative_h1_by<Derivative::spectral>(exec, field, derivatives, per_channel, arrays, workspace);
}

}  // namespace mylos
