#include "mylos/inference/arrays/sample_transfer.hpp"

#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/inference/arrays/element_types.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

/// A thread moves these rows together: a cache line of an array whose samples lie next to each other.
constexpr std::int64_t block_rows = 16;
/// Up to this number of values the calling thread moves them itself: a kernel would take longer to start.
constexpr std::int64_t max_values_of_caller = 16384;

/// Values from an array to rows of T.
template <class Element, class T>
struct ReadValues {
  using From = const Element;
  using To = T;
  KOKKOS_FORCEINLINE_FUNCTION static To plain(From value) { return from_float<T>(entering(value)); }
  KOKKOS_FORCEINLINE_FUNCTION static To scaled(From value, double shift, double scale) {
    return from_float<T>(static_cast<float>((static_cast<double>(entering(value)) - shift) * scale));
  }
};

/// Values from rows of T to an array.
template <class Element, class T>
struct WriteValues {
  using From = const T;
  using To = Element;
  KOKKOS_FORCEINLINE_FUNCTION static To plain(From value) { return leaving<Element>(to_float(value)); }
  KOKKOS_FORCEINLINE_FUNCTION static To scaled(From value, double shift, double scale) {
    return leaving<Element>(static_cast<float>(static_cast<double>(to_float(value)) / scale + shift));
  }
};

/// Where values are read or written.
template <class T>
struct Side {
  T* data;
  std::int64_t first_row;
  StridedIndex row;
  StridedIndex column;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T* at(std::int64_t index) const {
    return data + row.offset(first_row + index);
  }
};

/// One of the structs above for all values of some rows.
template <class Values>
struct Transfer {
  Side<typename Values::From> from;
  Side<typename Values::To> to;
  std::int64_t columns;
  ScalingTable scaling;

  KOKKOS_FUNCTION void move(std::int64_t row, std::int64_t column) const {
    const auto value = from.at(row)[from.column.offset(column)];
    to.at(row)[to.column.offset(column)] =
        scaling.shift == nullptr ? Values::plain(value)
                                 : Values::scaled(value, scaling.shift[column], scaling.scale[column]);
  }

  void move_rows(std::int64_t begin, std::int64_t end) const {
    const std::int64_t from_step = from.column.step();
    const std::int64_t to_step = to.column.step();
    if (from_step == 1 && to_step == 1) {
      for (std::int64_t row = begin; row < end; ++row) move_row(from.at(row), to.at(row), 1, 1);
    } else if (from_step == 0 || to_step == 0) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) move(row, column);
      }
    } else {
      move_by_columns(begin, end, from_step, to_step);
    }
  }

 private:
  void move_row(typename Values::From* in, typename Values::To* out, std::int64_t in_step,
                std::int64_t out_step) const {
    if (scaling.shift == nullptr) {
      simd_for(0, columns, [=](std::int64_t i) { out[i * out_step] = Values::plain(in[i * in_step]); });
      return;
    }
    const auto [shift, scale] = scaling;
    simd_for(0, columns, [=, shift = shift, scale = scale](std::int64_t i) {
      out[i * out_step] = Values::scaled(in[i * in_step], shift[i], scale[i]);
    });
  }

  /// Rows in the inner loop, where one side's samples lie next to each other: whole cache lines are used.
  void move_by_columns(std::int64_t begin, std::int64_t end, std::int64_t from_step,
                       std::int64_t to_step) const {
    const std::int64_t from_row = from.row.step();
    const std::int64_t to_row = to.row.step();
    const bool rows_are_near = from_row != 0 && to_row != 0 && (from_row < from_step || to_row < to_step);
    if (!rows_are_near) {
      for (std::int64_t row = begin; row < end; ++row) move_row(from.at(row), to.at(row), from_step, to_step);
      return;
    }
    for (std::int64_t first = begin; first < end; first += block_rows) {
      const std::int64_t rows = std::min(block_rows, end - first);
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto* in = from.at(first) + column * from_step;
        auto* out = to.at(first) + column * to_step;
        if (scaling.shift == nullptr) {
          for (std::int64_t row = 0; row < rows; ++row) out[row * to_row] = Values::plain(in[row * from_row]);
        } else {
          const double shift = scaling.shift[column];
          const double scale = scaling.scale[column];
          for (std::int64_t row = 0; row < rows; ++row)
            out[row * to_row] = Values::scaled(in[row * from_row], shift, scale);
        }
      }
    }
  }
};

template <class Values>
void launch_transfer(const Execution& exec, KernelName name, std::int64_t rows,
                     const Transfer<Values>& transfer) {
  if constexpr (runs_on_host) {
    if (rows * transfer.columns <= max_values_of_caller) return transfer.move_rows(0, rows);
    for_each_block(exec, name, rows, block_rows,
                   [transfer](std::int64_t begin, std::int64_t end) { transfer.move_rows(begin, end); });
  } else {
    const std::int64_t columns = transfer.columns;
    for_each_element(
        exec, name, rows * columns,
        KOKKOS_LAMBDA(std::int64_t i) { transfer.move(i / columns, i % columns); });
  }
}

/// Rows of a matrix as a side.
template <class T>
Side<T> matrix_side(T* data, std::int64_t rows, std::int64_t columns) {
  Side<T> side{data, 0, {}, {}};
  side.row.append(rows, columns);
  side.column.append(columns, 1);
  return side;
}

/// The samples of an array from `first` on as a side.
template <class T>
Side<T> array_side(const ArraySamples& array, std::int64_t first) {
  return {static_cast<T*>(array.data), first, array.sample, array.value};
}

template <class Element, class T>
Transfer<ReadValues<Element, T>> reading(const ArraySamples& array, std::int64_t first,
                                         const ScalingTable& scaling, T* rows, std::int64_t count,
                                         std::int64_t columns) {
  return {array_side<const Element>(array, first), matrix_side(rows, count, columns), columns, scaling};
}

template <class Element, class T>
Transfer<WriteValues<Element, T>> writing(const T* rows, std::int64_t count, std::int64_t columns,
                                          const ScalingTable& scaling, const ArraySamples& array,
                                          std::int64_t first) {
  return {matrix_side(rows, count, columns), array_side<Element>(array, first), columns, scaling};
}

}  // namespace

void read_samples(const Execution& exec, const ArraySamples& array, std::int64_t first,
                  const ScalingTable& scaling, const Tensor& rows) {
  dispatch_element(array.type, [&](auto element) {
    using Element = typename decltype(element)::type;
    dispatch(rows.type(), [&](auto type) {
      using T = typename decltype(type)::type;
      launch_transfer(exec, "read_samples", rows.rows(),
                      reading<Element>(array, first, scaling, rows.as<T>(), rows.rows(), rows.columns()));
    });
  });
}

void write_samples(const Execution& exec, const ConstTensor& rows, const ScalingTable& scaling,
                   const ArraySamples& array, std::int64_t first) {
  dispatch_element(array.type, [&](auto element) {
    using Element = typename decltype(element)::type;
    dispatch(rows.type(), [&](auto type) {
      using T = typename decltype(type)::type;
      launch_transfer(exec, "write_samples", rows.rows(),
                      writing<Element>(rows.as<T>(), rows.rows(), rows.columns(), scaling, array, first));
    });
  });
}

void read_on_host(const ArraySamples& array, std::int64_t first, std::int64_t count, std::int64_t columns,
                  float* rows) {
  dispatch_element(array.type, [&](auto element) {
    using Element = typename decltype(element)::type;
    reading<Element>(array, first, {}, rows, count, columns).move_rows(0, count);
  });
}

void write_on_host(const float* rows, std::int64_t count, std::int64_t columns, const ArraySamples& array,
                   std::int64_t first) {
  dispatch_element(array.type, [&](auto element) {
    using Element = typename decltype(element)::type;
    writing<Element>(rows, count, columns, {}, array, first).move_rows(0, count);
  });
}

}  // namespace mylos
