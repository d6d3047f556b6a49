// A block of C: its products with a panel, and what becomes of their float sums in registers (bias, the old
// C, ReLU and the one rounding).
#pragma once

#include <algorithm>

#include "bfloat16_words.hpp"
#include "gemm_tiling.hpp"

namespace mylos {

template <class Words, class Output>
struct Finish {
  Output* c;
  std::int64_t c_stride;
  std::int64_t rows;     // that exist
  std::int64_t columns;  // that exist
  const float* bias;     // null where there is none
  bool accumulate;
  bool relu;
  Sums sums;  // of the chunks of k before this one
  bool last;  // chunk

  /// Asks for a row of the block in C.
  [[gnu::always_inline]] void fetch_target(std::int64_t row) const {
    if (!last || row >= rows) return;
    constexpr auto in_a_line = static_cast<std::int64_t>(line_bytes / sizeof(Output));
#pragma GCC unroll 4
    for (std::int64_t column = 0; column < panel_columns; column += in_a_line)
      fetch_to_write(c + row * c_stride + column);
    fetch_to_write(c + row * c_stride + panel_columns - 1);
  }
  /// Inlined, or the block would go to memory and come back.
  template <int vectors>
  [[gnu::always_inline]] void take(Block<vectors>& block) const {
    if (!last) return sums.take<vectors>(block);
    if (sums.add) add<vectors>(block, sums.values, sums.stride);
    if (bias != nullptr) add<vectors>(block, bias, 0);
    if (rows >= product_rows && columns >= vectors * lanes::count) {
      if (accumulate) add<vectors>(block, c, c_stride);
      if (relu) apply_relu_to<vectors>(block);
      for_each_vector<vectors>(block, [this](lanes::Floats& value, int row, int column) {
        store_rounded<Words>(value, c + row * c_stride + column);
      });
    } else {
      at_the_edge<vectors>(block);
    }
  }

 private:
  template <int vectors, class T>
  static void add(Block<vectors>& block, const T* values, std::int64_t stride) {
    for_each_vector<vectors>(block, [=](lanes::Floats& value, int row, int column) {
      lanes::Floats other;
      lanes::load(values + row * stride + column, other);
      value += other;
    });
  }
  template <int vectors>
  static void apply_relu_to(Block<vectors>& block) {
    for_each_vector<vectors>(block, [](lanes::Floats& value, int, int) {
      value = value < 0.0f ? lanes::Floats{} : value;
    });  // keeps NaN
  }
  template <int vectors>
  void at_the_edge(Block<vectors>& block) const {
    Output padded[product_rows * vectors * lanes::count] = {};
    constexpr std::int64_t stride = vectors * lanes::count;
    const auto bytes = static_cast<std::size_t>(std::min(columns, stride)) * sizeof(Output);
    const std::int64_t existing = std::min<std::int64_t>(rows, product_rows);
    if (accumulate) {
      for (std::int64_t row = 0; row < existing; ++row)
        std::memcpy(padded + row * stride, c + row * c_stride, bytes);
      add<vectors>(block, padded, stride);
    }
    if (relu) apply_relu_to<vectors>(block);
    for_each_vector<vectors>(block, [&](lanes::Floats& value, int row, int column) {
      store_rounded<Words>(value, padded + row * stride + column);
    });
    for (std::int64_t row = 0; row < existing; ++row)
      std::memcpy(c + row * c_stride, padded + row * stride, bytes);
  }
};

/// The bias of a panel, padded with zeros.
template <class T>
void load_bias(const T* bias, std::int64_t columns, float (&values)[panel_columns]) {
  for (std::int64_t j = 0; j < panel_columns; j += lanes::count) {
    lanes::Floats vector = {};
    if (columns >= j + lanes::count) {
      lanes::load(bias + j, vector);
    } else if (columns > j) {
      lanes::load_some(bias + j, columns - j, vector);
    }
    lanes::store(vector, values + j);
  }
}

/// A block's rows of A times a panel, or as many vectors of it as there are columns.
template <class Words, class A, class Output>
void multiply_panel(std::int64_t steps, const A& a, const typename Words::Word* panel,
                    const Finish<Words, Output>& finish, const NextLines& next) {
  const auto multiply_vectors = [&]<int vectors>(std::integral_constant<int, vectors>) {
    multiply_block<Words, vectors>(steps, a, panel, panel_columns, finish, next);
  };
  if (finish.columns > 2 * lanes::count) {
    multiply_vectors(std::integral_constant<int, product_vectors>{});
  } else if (finish.columns > lanes::count) {
    multiply_vectors(std::integral_constant<int, std::min(2, product_vectors)>{});
  } else {
    multiply_vectors(std::integral_constant<int, 1>{});
  }
}

}  // namespace mylos
