// Converts matrices whose rows are tokens to and from the layout by head, [head][length][head_width], which
// batched GEMMs need.
#pragma once

#include <initializer_list>

#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

/// Some of the batch's heads. The number of a head is sample * heads + head of the sample.
struct HeadBlock {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// A matrix of tokens. Its rows contain the values of all heads, from `start` on.
template <class T>
struct TokenRows {
  T* start;
  std::int64_t columns;  // from one row to the next
};

namespace launch {

template <class T>
struct TokenMatrices {
  static constexpr int max_matrices = 4;
  TokenRows<T> at[max_matrices];
};

template <bool to_heads, int together, class T>
void copy_heads(const Execution& exec, const AttentionShape& shape, const HeadBlock& block,
                const TokenMatrices<T>& matrices, int count, T* by_head) {
  using Unit = device_tile::Elements<T, together>;
  const std::int64_t length = shape.length;
  const std::int64_t head_width = shape.head_width;
  const std::int64_t heads = shape.heads;
  const auto units = static_cast<std::uint32_t>(head_width / together);  // per head and token
  for_each_row(
      exec, to_heads ? KernelName("to_heads") : KernelName("from_heads"), count * block.count,
      KOKKOS_LAMBDA(std::int64_t index, const Row& team) {
        const TokenRows<T> rows = matrices.at[index / block.count];
        const std::int64_t head = block.first + index % block.count;
        T* const tokens = rows.start + head / heads * length * rows.columns + head % heads * head_width;
        Unit* const head_units = reinterpret_cast<Unit*>(by_head + index * length * head_width);
        team.for_each(length * units, [=](std::int64_t unit) {
          // 32-bit division is fast; it suffices because a head of 2^32 units would take at least 8 GiB.
          const std::uint32_t i = static_cast<std::uint32_t>(unit) / units;
          const std::uint32_t column = (static_cast<std::uint32_t>(unit) - i * units) * together;
          Unit* const of_token = reinterpret_cast<Unit*>(tokens + i * rows.columns + column);
          if (to_heads) {
            head_units[unit] = *of_token;
          } else {
            *of_token = head_units[unit];
          }
        });
      });
}

template <bool to_heads, class T>
void copy_heads(const Execution& exec, const AttentionShape& shape, const HeadBlock& block,
                std::initializer_list<TokenRows<T>> rows, T* by_head) {
  constexpr int together = 16 / sizeof(T);
  TokenMatrices<T> matrices{};
  int count = 0;
  auto bits = reinterpret_cast<std::uintptr_t>(by_head);
  for (const TokenRows<T>& matrix : rows) {
    matrices.at[count++] = matrix;
    bits |= reinterpret_cast<std::uintptr_t>(matrix.start);
  }
  if (shape.head_width % together == 0 && bits % 16 == 0) {
    copy_heads<to_heads, together>(exec, shape, block, matrices, count, by_head);
  } else {
    copy_heads<to_heads, 1>(exec, shape, block, matrices, count, by_head);
  }
}

}  // namespace launch

/// Copies the block's heads of the first matrix to by_head, then those of the second, and so on; up to four
/// matrices.
template <class T>
void to_heads(const Execution& exec, const AttentionShape& shape, const HeadBlock& block,
              std::initializer_list<TokenRows<T>> rows, T* by_head) {
  launch::copy_heads<true>(exec, shape, block, rows, by_head);
}

/// Copies by_head back to the matrices.
template <class T>
void from_heads(const Execution& exec, const AttentionShape& shape, const HeadBlock& block, T* by_head,
                std::initializer_list<TokenRows<T>> rows) {
  launch::copy_heads<false>(exec, shape, block, rows, by_head);
}

}  // namespace mylos
