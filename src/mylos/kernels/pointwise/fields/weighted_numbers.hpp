// WeightedNumbers: the numbers of a sample [points, channels] with their weights, in a loss: their sums, in a
// fixed order, and their gradient. WeightedMean is the mean over them of what a term says of each.
#pragma once

#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/pointwise/fields/field_loss.hpp"
#include "mylos/kernels/pointwise/sample_loss.hpp"

namespace mylos {

/// The channels [first, first + count) of all points.
struct ChannelRange {
  std::int64_t first;
  std::int64_t count;
};

struct WeightedNumbers {
  FieldPoints field;
  const float* targets;  // [points, channels]; one that is missing has the weight 0

  /// Returns the sum of weight * term(i, point) over the numbers i of these channels, in double: of each
  /// point, and of these sums; number by number if there is one point, or if `by_numbers`.
  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION double sum(const Row& row, const ChannelRange& range, bool by_numbers,
                                         const Term& term) const {
    const FieldWeights weights = field.weights;
    const float* const t = targets;
    const std::int64_t channels = field.channels;
    const std::int64_t first = range.first;
    const std::int64_t count = range.count;
    if (by_numbers || field.points == 1) {
      return row.sum(field.points * count, [=](std::int64_t k) {
        const std::int64_t point = k / count;
        const std::int64_t i = point * channels + first + (k - point * count);
        return weighted(weights.point(point) * weights.number(i, t[i]), term(i, point));
      });
    }
    return row.sum(field.points, [=](std::int64_t point) {
      double total = 0;
      for (std::int64_t i = point * channels + first; i < point * channels + first + count; ++i)
        total += weighted(weights.number(i, t[i]), term(i, point));
      return weighted(weights.point(point), total);
    });
  }

  /// Calls write(i, point, factor * weight) for each of these numbers.
  template <class Write>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Row& row, const ChannelRange& range, float factor,
                                            const Write& write) const {
    const FieldWeights weights = field.weights;
    const float* const t = targets;
    const std::int64_t channels = field.channels;
    const std::int64_t first = range.first;
    const std::int64_t count = range.count;
    if (field.points == 1) {
      row.for_each(count, [=](std::int64_t k) {
        write(first + k, std::int64_t{0},
              factor * weights.point(0) * weights.number(first + k, t[first + k]));
      });
      return;
    }
    row.for_each(field.points, [=](std::int64_t point) {
      const float of_point = factor * weights.point(point);
      for (std::int64_t i = point * channels + first; i < point * channels + first + count; ++i)
        write(i, point, of_point * weights.number(i, t[i]));
    });
  }
};

/// The outputs of one number: as many as its term has, `stride` apart.
template <class T>
struct OutputsOfNumber {
  const T* first;
  std::int64_t stride;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(std::int64_t k) const { return to_float(first[k * stride]); }
};

/// The mean of a term over the outputs of a sample [points, term.outputs, channels], or over its numbers. A
/// term has
///
///   outputs              of each number
///   mean_over_outputs    whether it is the mean over outputs, and not over numbers
///   sums_numbers         the order of sums, as in WeightedNumbers::sum
///   loss(p, t)           in double, of a number's outputs p(0), p(1) ... and its target
///   slopes(p, t, write)  calls write(k, the derivative of the loss with respect to p(k)) for each output
template <class Term>
struct WeightedMean {
  FieldPoints field;
  Term term;

  template <class T>
  KOKKOS_FUNCTION float operator()(const Row& row, const LossSample<T>& sample) const {
    const Term of = term;
    const std::int64_t channels = field.channels;
    const std::int64_t further = (of.outputs - 1) * channels;  // outputs of a point besides its numbers
    const T* const p = sample.p;
    const float* const t = sample.t;
    const WeightedNumbers numbers{field, t};
    const ChannelRange all{0, channels};
    const double sum = numbers.sum(row, all, Term::sums_numbers, [=](std::int64_t i, std::int64_t point) {
      return of.loss(OutputsOfNumber<T>{p + i + point * further, channels}, t[i]);
    });
    const double inverse_columns =
        1.0 / static_cast<double>(field.points * channels * (Term::mean_over_outputs ? of.outputs : 1));
    if (sample.d != nullptr) {
      T* const d = sample.d;
      const float factor = sample.scale * static_cast<float>(inverse_columns);
      numbers.for_each(row, all, factor, [=](std::int64_t i, std::int64_t point, float weight) {
        const std::int64_t first = i + point * further;
        // Slopes are read before they are written: d may be p.
        of.slopes(OutputsOfNumber<T>{p + first, channels}, t[i], [=](std::int64_t k, float slope) {
          d[first + k * channels] = from_float<T>(weighted(weight, slope));
        });
      });
    }
    return static_cast<float>(sum * inverse_columns);
  }
};

template <class Term>
void weighted_mean(const Execution& exec, KernelName name, const FieldPoints& field, const LossArrays& arrays,
                   const Term& term) {
  for_each_sample(exec, name, arrays, field.points * field.channels, WeightedMean<Term>{field, term});
}

}  // namespace mylos
