// Cross-entropy of rows of logits and its gradient, in one pass over the row: the kernel of loss.cpp for any
// function that computes e^x.
//
// The sum of exponentials of a row is combined from sums over parts of it, each relative to its largest
// logit. If a device's registers can hold the row, it is read once (register_row.hpp).
#pragma once

#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/register_row.hpp"
#include "mylos/kernels/pointwise/loss.hpp"

namespace mylos::cross_entropy {

/// Computes e^x with the same bits on every backend.
struct PortableExponential {
  KOKKOS_FORCEINLINE_FUNCTION float operator()(float x) const { return math::exp(x); }
};

/// Computes e^x by the device's own function. e^x below 2^-126 may be 0.
struct HardwareExponential {
  KOKKOS_FORCEINLINE_FUNCTION float operator()(float x) const { return math::Hardware::exp(x); }
};

using DefaultExponential = std::conditional_t<runs_on_host, PortableExponential, HardwareExponential>;

/// The sum of e^(x - largest) over some logits x of a row. Two sums are combined as in Milakov and Gimelshein
/// 2018 (arXiv 1805.02867), in one pass.
template <class Exponential>
struct ExponentialSum {
  float largest = -Kokkos::Experimental::finite_max_v<float>;
  float sum = 0;

  KOKKOS_FUNCTION ExponentialSum& operator+=(const ExponentialSum& other) {
    const Exponential exponential;
    const float joined = other.largest > largest ? other.largest : largest;
    sum = sum * exponential(largest - joined) + other.sum * exponential(other.largest - joined);
    largest = joined;
    return *this;
  }
};

}  // namespace mylos::cross_entropy

/// Lets Kokkos combine them within a row.
template <class Exponential>
struct Kokkos::reduction_identity<mylos::cross_entropy::ExponentialSum<Exponential>> {
  KOKKOS_FUNCTION static mylos::cross_entropy::ExponentialSum<Exponential> sum() { return {}; }
};

namespace mylos::cross_entropy {

/// A row's gradient: factor * (e^(logit - largest) * inverse_sum - target), where the target is the label's
/// or that of the other classes.
struct RowGradient {
  float largest;
  float inverse_sum;
  float factor;
  float of_label;
  float of_other;
};

/// The logits of a row on hosts, whose caches hold it. They are read several times, by loops of vectors.
template <class T, class Exponential>
struct HostLogits {
  const HostRow& row;
  const T* x;
  std::int64_t classes;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ExponentialSum<Exponential> sum_exponentials() const {
    const T* const logits = x;
    const float largest = row.max(classes, [=](std::int64_t c) { return to_float(logits[c]); });
    const float sum =
        row.sum(classes, [=](std::int64_t c) { return Exponential()(to_float(logits[c]) - largest); });
    return {largest, sum};
  }
  /// Returns the sum over the classes of value - logit.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float sum_below(float value) const {
    const T* const logits = x;
    return row.sum(classes, [=](std::int64_t c) { return value - to_float(logits[c]); });
  }
  /// Returns how many of the first `count` logits are at least `value`.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t as_large(std::int64_t count, float value) const {
    const T* const logits = x;
    return row.sum(count,
                   [=](std::int64_t c) { return static_cast<std::int32_t>(to_float(logits[c]) >= value); });
  }
  /// Writes the gradient of every class, and 0 to the padding of the row.
  KOKKOS_FORCEINLINE_FUNCTION void write_gradient(std::int64_t columns, T* to, std::int64_t label,
                                                  const RowGradient& of_row) const {
    const T* const logits = x;
    const RowGradient of = of_row;
    row.for_each_tile(classes, [=](std::int64_t first, std::int64_t count) {
      float buffer[tile_width];
      float value[tile_width];
      const auto logit = tile_values(logits + first, count, buffer);
      for_each_in_tile(count, [&](std::int64_t i) {
        const float probability = Exponential()(logit[i] - of.largest) * of.inverse_sum;
        value[i] = of.factor * (probability - (first + i == label ? of.of_label : of.of_other));
      });
      write_tile(value, count, to + first);
    });
    T* const padding = to + classes;
    row.for_each(columns - classes, [=](std::int64_t c) { padding[c] = from_float<T>(0.0f); });
  }
};

/// The logits of a row on a device, by the tiles of each lane. Elements: a ReadRow or RegisterRow of all
/// columns.
template <class Elements, class Exponential>
struct DeviceLogits {
  const DeviceRow& row;
  const Elements& elements;
  std::int32_t classes;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ExponentialSum<Exponential> sum_exponentials() const {
    return row.sum_lanes([&](std::int64_t lane) {
      ExponentialSum<Exponential> of_lane;
      elements.for_each_tile_of(lane, [&](std::int32_t, const auto& tile) {
        const Exponential exponential;
        const float before = of_lane.largest;
        for_each_in_tile(tile_width, [&](std::int64_t i) {
          of_lane.largest = Kokkos::fmax(of_lane.largest, to_float(tile.element[i]));
        });
        of_lane.sum *= exponential(before - of_lane.largest);
        for_each_in_tile(tile_width, [&](std::int64_t i) {
          of_lane.sum += exponential(to_float(tile.element[i]) - of_lane.largest);
        });
      });
      return of_lane;
    });
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float sum_below(float value) const {
    return row.sum_lanes([&](std::int64_t lane) {
      float of_lane = 0;
      elements.for_each_tile_of(lane, [&](std::int32_t first, const auto& tile) {
        for_each_in_tile(classes - first,
                         [&](std::int64_t i) { of_lane += value - to_float(tile.element[i]); });
      });
      return of_lane;
    });
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t as_large(std::int32_t count, float value) const {
    return row.sum_lanes([&](std::int64_t lane) {
      std::int32_t of_lane = 0;
      elements.for_each_tile_of(lane, [&](std::int32_t first, const auto& tile) {
        const std::int32_t before = count - first;
        if (before <= 0) return;
        for_each_in_tile(before, [&](std::int64_t i) {
          of_lane += static_cast<std::int32_t>(to_float(tile.element[i]) >= value);
        });
      });
      return of_lane;
    });
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void write_gradient(std::int64_t, T* to, std::int32_t label,
                                                  const RowGradient& of_row) const {
    const float scale = of_row.factor * of_row.inverse_sum;
    const float shift = of_row.factor * of_row.of_other;
    const float shift_of_label = of_row.factor * (of_row.of_label - of_row.of_other);
    row.for_each_lane([&](std::int64_t lane) {
      elements.for_each_tile_of(lane, [&](std::int32_t first, const auto& tile) {
        const Exponential exponential;
        float value[tile_width];
        for_each_in_tile(tile_width, [&](std::int64_t i) {
          value[i] = exponential(to_float(tile.element[i]) - of_row.largest) * scale - shift;
        });
        const std::int32_t label_in_tile = label - first;
        if (label_in_tile >= 0 && label_in_tile < tile_width) {
          for_each_in_tile(tile_width,
                           [&](std::int64_t i) { value[i] -= i == label_in_tile ? shift_of_label : 0.0f; });
        }
        const std::int32_t classes_in_tile = classes - first;
        if (classes_in_tile < tile_width) {
          for_each_in_tile(tile_width,
                           [&](std::int64_t i) { value[i] = i < classes_in_tile ? value[i] : 0.0f; });
        }
        elements.write(value, first, to);
      });
    });
  }
};

/// The losses and gradients of a batch.
template <class T, class Exponential>
struct CrossEntropy {
  const T* logits;
  const std::int32_t* labels;
  T* d_logits;  // or nullptr
  const float* loss_scale;
  float inverse_count;
  float* row_loss;
  std::int32_t* row_correct;  // or nullptr
  std::int64_t columns;
  std::int64_t classes;
  const float* class_weights;  // or nullptr
  float smoothing;
  float of_other;  // the target probability of each class
  float of_label;  // the target probability of the label

  template <class Logits>
  KOKKOS_FORCEINLINE_FUNCTION void work_on(const Row& row, std::int64_t index, const Logits& x) const {
    const std::int32_t label = labels[index];
    const bool known = label >= 0 && label < classes;
    const float at_label =
        known ? to_float(logits[index * columns + label]) : Kokkos::Experimental::quiet_NaN_v<float>;
    const auto [largest, sum] = x.sum_exponentials();
    const float log_sum = Kokkos::log(sum);
    const float weight = class_weights != nullptr && known ? class_weights[label] : 1.0f;
    float below = largest - at_label;
    if (smoothing > 0) below = (1.0f - smoothing) * below + of_other * x.sum_below(largest);
    const float loss = weight * (log_sum + below);
    if (row_correct != nullptr) {
      // A NaN in any logit makes the loss NaN; such a row is not correct.
      const bool correct = at_label == largest && loss == loss && x.as_large(label, at_label) == 0;
      std::int32_t* const result = row_correct + index;
      row.once([=]() { *result = static_cast<std::int32_t>(correct); });
    }
    if (d_logits != nullptr) {
      x.write_gradient(columns, d_logits + index * columns, label,
                       {.largest = largest,
                        .inverse_sum = known ? 1.0f / sum : at_label,
                        .factor = *loss_scale * inverse_count * weight,
                        .of_label = of_label,
                        .of_other = of_other});
    }
    float* const result = row_loss + index;
    row.once([=]() { *result = loss; });
  }
};

template <class T, class Exponential>
void read_each_time(const Execution& exec, std::int64_t rows, const CrossEntropy<T, Exponential>& all) {
  const RowTiles row_tiles = read_tiles(all.columns);
  for_each_row(
      exec, "cross_entropy", rows, all.columns, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* const x = all.logits + index * all.columns;
        [[maybe_unused]] const RowTiles tiles =
            row_tiles;  // captured before the constexpr if, as nvcc demands
        if constexpr (runs_on_host) {
          all.work_on(row, index, HostLogits<T, Exponential>{row, x, all.classes});
        } else {
          const ReadRow<T> elements(tiles, x, all.classes);
          all.work_on(
              row, index,
              DeviceLogits<ReadRow<T>, Exponential>{row, elements, static_cast<std::int32_t>(all.classes)});
        }
      });
}

/// Reads the logits from memory once and writes the gradients once.
template <class T, class Exponential>
void read_once(const Execution& exec, std::int64_t rows, const CrossEntropy<T, Exponential>& all) {
  const RowTiles tiles = register_tiles<T>(all.columns);
  for_each_register_row<T>(
      exec, "cross_entropy", rows, all.columns, KOKKOS_LAMBDA(std::int64_t index, const DeviceRow& row) {
        const RegisterRow<T> elements(row, tiles, all.logits + index * all.columns, all.classes);
        all.work_on(
            row, index,
            DeviceLogits<RegisterRow<T>, Exponential>{row, elements, static_cast<std::int32_t>(all.classes)});
      });
}

/// Implements softmax_cross_entropy() for logits of type T.
template <class T, class Exponential = DefaultExponential>
void of_rows(const Execution& exec, const ConstTensor& logits, const std::int32_t* labels,
             const Tensor& d_logits, const float* loss_scale, float inverse_count, float* row_loss,
             std::int32_t* row_correct, std::int64_t counted, const ClassificationOptions& options) {
  const std::int64_t columns = logits.columns();
  const std::int64_t classes = counted > 0 ? counted : columns;
  const float of_other = options.smoothing / static_cast<float>(classes);
  const CrossEntropy<T, Exponential> all{logits.as<T>(),
                                         labels,
                                         d_logits.empty() ? nullptr : d_logits.as<T>(),
                                         loss_scale,
                                         inverse_count,
                                         row_loss,
                                         row_correct,
                                         columns,
                                         classes,
                                         options.class_weights,
                                         options.smoothing,
                                         of_other,
                                         1.0f - options.smoothing + of_other};
  if constexpr (!runs_on_host) {
    if (fits_in_registers(all.logits, columns) && device_tile::is_aligned<tile_width>(all.d_logits))
      return read_once(exec, logits.rows(), all);
  }
  read_each_time(exec, logits.rows(), all);
}

}  // namespace mylos::cross_entropy
