#include "mylos/kernels/pointwise/fields/field_loss.hpp"

#include "mylos/kernels/pointwise/fields/weighted_numbers.hpp"
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

/// The loss of single numbers, as a term of WeightedMean.
template <class Error>
struct ErrorOfNumber {
  static constexpr bool mean_over_outputs = false;
  static constexpr bool sums_numbers = false;
  static constexpr std::int64_t outputs = 1;
  Error error;

  template <class Outputs>
  KOKKOS_FORCEINLINE_FUNCTION double loss(const Outputs& p, float t) const {
    return static_cast<double>(error.value(p(0), t));
  }
  template <class Outputs, class Write>
  KOKKOS_FORCEINLINE_FUNCTION void slopes(const Outputs& p, float t, const Write& write) const {
    write(0, error.slope(p(0), t));
  }
};

struct RelativeL2 {
  FieldPoints field;
  ChannelGroups groups;

  template <class T>
  KOKKOS_FUNCTION float operator()(const Row& row, const LossSample<T>& sample) const {
    const T* const p = sample.p;
    const float* const t = sample.t;
    const WeightedNumbers numbers{field, t};
    const double inverse_groups = 1.0 / static_cast<double>(groups.count);
    double total = 0;
    for (std::int64_t group = 0; group < groups.count; ++group) {
      const ChannelRange range{group * groups.width, groups.width};
      const double error = Kokkos::sqrt(numbers.sum(row, range, false, [=](std::int64_t i, std::int64_t) {
        return static_cast<double>(SquaredError::value(to_float(p[i]), t[i]));
      }));
      const double norm = Kokkos::sqrt(numbers.sum(row, range, false, [=](std::int64_t i, std::int64_t) {
        return static_cast<double>(t[i]) * static_cast<double>(t[i]);
      }));
      const double share = (norm > 0 ? 1.0 / norm : 1.0) * inverse_groups;
      if (sample.d != nullptr) {
        T* const d = sample.d;
        const auto inverse_error = static_cast<float>(error == 0 ? 0.0 : 1.0 / error);
        const float factor = sample.scale * static_cast<float>(share);
        numbers.for_each(row, range, inverse_error, [=](std::int64_t i, std::int64_t, float weight) {
          d[i] = from_float<T>(factor * weighted(weight, to_float(p[i]) - t[i]));
        });
      }
      total += error * share;
    }
    return static_cast<float>(total);
  }
};

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

template <Derivative D>
struct RelativeH1 {
  FieldPoints field;
  Slopes<D> slopes;
  ChannelGroups groups;
  float* workspace;

  template <class T>
  KOKKOS_FUNCTION float operator()(const Row& row, const LossSample<T>& sample) const {
    const T* const p = sample.p;
    const float* const t = sample.t;
    const WeightedNumbers numbers{field, t};
    const std::int64_t channels = field.channels;
    const std::int64_t columns = field.points * channels;
    float* const errors = workspace + sample.index * columns * (1 + slopes.axes);
    row.for_each(columns, [=](std::int64_t c) { errors[c] = to_float(p[c]) - t[c]; });
    row.barrier();
    const double inverse_groups = 1.0 / static_cast<double>(groups.count);
    double total = 0;
    for (std::int64_t group = 0; group < groups.count; ++group) {
      const ChannelRange range{group * groups.width, groups.width};
      double error = numbers.sum(row, range, false, [=](std::int64_t i, std::int64_t) {
        return static_cast<double>(errors[i]) * static_cast<double>(errors[i]);
      });
      double norm = numbers.sum(row, range, false, [=](std::int64_t i, std::int64_t) {
        return static_cast<double>(t[i]) * static_cast<double>(t[i]);
      });
      for (int a = 0; a < slopes.axes; ++a) {
        const AxisSlope<D> axis = slopes.axis[a];
        const FieldWeights weights = slopes.weights[a];
        const WeightedNumbers of_axis{{field.points, channels, weights}, t};
        float* const weighted_slopes = errors + (1 + a) * columns;
        const auto slope_at = [=](const float* values, std::int64_t i, std::int64_t point) {
          const std::int64_t k = i - point * channels;
          return axis.of([=](std::int64_t at) { return values[at * channels + k]; }, point);
        };
        error += of_axis.sum(row, range, false, [=](std::int64_t i, std::int64_t point) {
          if (weights.is_missing(weights.skips_missing ? slope_at(t, i, point) : 0.0f)) {
            weighted_slopes[i] = 0;
            return 0.0;
          }
          const float slope = slope_at(errors, i, point);
          weighted_slopes[i] = weighted(weights.point(point) * weights.number(i, t[i]), slope);
          return static_cast<double>(slope) * static_cast<double>(slope);
        });
        norm += of_axis.sum(row, range, false, [=](std::int64_t i, std::int64_t point) {
          const float slope = slope_at(t, i, point);
          return weights.is_missing(slope) ? 0.0 : static_cast<double>(slope) * static_cast<double>(slope);
        });
      }
      const double size = Kokkos::sqrt(error);
      const double share = (norm > 0 ? 1.0 / Kokkos::sqrt(norm) : 1.0) * inverse_groups;
      if (sample.d != nullptr) {
        row.barrier();
        T* const d = sample.d;
        const auto inverse_size = static_cast<float>(size == 0 ? 0.0 : 1.0 / size);
        const float factor = sample.scale * static_cast<float>(share);
        const Slopes<D> of = slopes;
        numbers.for_each(row, range, 1.0f, [=](std::int64_t i, std::int64_t point, float weight) {
          const std::int64_t k = i - point * channels;
          float sum = weighted(weight, errors[i]);
          for (int a = 0; a < of.axes; ++a) {
            const float* const slopes_of_axis = errors + (1 + a) * columns;
            sum += of.axis[a].transposed([=](std::int64_t at) { return slopes_of_axis[at * channels + k]; },
                                         point);
          }
          d[i] = from_float<T>(factor * (sum * inverse_size));
        });
      }
      total += size * share;
    }
    return static_cast<float>(total);
  }
};

template <Derivative D>
void relative_h1_by(const Execution& exec, const FieldPoints& field, const FieldDerivatives& derivatives,
                    bool per_channel, const LossArrays& arrays, float* workspace) {
  const RelativeH1<D> loss{field, Slopes<D>(derivatives), groups_of(field, per_channel), workspace};
  for_each_sample(exec, "relative_h1", arrays, field.points * field.channels, loss);
}

}  // namespace

void weighted_squared_error(const Execution& exec, const FieldPoints& field, const LossArrays& arrays) {
  weighted_mean(exec, "weighted_square", field, arrays, ErrorOfNumber<SquaredError>{});
}

void weighted_absolute_error(const Execution& exec, const FieldPoints& field, const LossArrays& arrays) {
  weighted_mean(exec, "weighted_error", field, arrays, ErrorOfNumber<AbsoluteError>{});
}

void weighted_huber_loss(const Execution& exec, const FieldPoints& field, const LossArrays& arrays,
                         float delta) {
  weighted_mean(exec, "weighted_huber", field, arrays, ErrorOfNumber<HuberLoss>{{delta}});
}

void relative_l2_of_field(const Execution& exec, const FieldPoints& field, bool per_channel,
                          const LossArrays& arrays) {
  for_each_sample(exec, "relative_l2", arrays, field.points * field.channels,
                  RelativeL2{field, groups_of(field, per_channel)});
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
