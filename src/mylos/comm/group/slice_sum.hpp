// SliceSum: what one device thread computes of a sum over ranks. It reads 16 bytes of each rank's slice at a
// time, and adds in registers by the binary tree over ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/float16.hpp"
#include "mylos/base/numbers/binary_tree.hpp"

namespace mylos {

/// The slices of all ranks, of `count` elements each: this rank's, and those of the other ranks, which lie
/// one after the other in rank order.
template <class T>
struct RankSlices {
  const T* others;
  const T* own;
  int own_rank;  // the number of ranks: `others` has all slices
  std::size_t count;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION const T* of(int rank) const {
    if (rank == own_rank) return own;
    return others + static_cast<std::size_t>(rank < own_rank ? rank : rank - 1) * count;
  }
};

namespace fold {

/// Returns a value in the type in which it is summed.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION float widen(T value) {
  return to_float(value);
}
KOKKOS_FORCEINLINE_FUNCTION double widen(double value) {
  return value;
}

/// Rounds a sum to the type of the slices.
template <class T>
struct Narrow {
  KOKKOS_FORCEINLINE_FUNCTION static T from(float value) { return from_float<T>(value); }
};
template <>
struct Narrow<double> {
  KOKKOS_FORCEINLINE_FUNCTION static double from(double value) { return value; }
};

/// Elements that a thread reads or writes in one access.
template <class T>
struct alignas(16) Sixteen {
  static constexpr std::size_t width = 16 / sizeof(T);
  T element[width];
};

}  // namespace fold

template <class T>
struct SliceSum {
  static constexpr std::size_t width = fold::Sixteen<T>::width;

  RankSlices<T> slices;
  int ranks;
  float factor;
  T* out;

  /// Returns whether all slices can be read by accesses of 16 bytes.
  [[nodiscard]] bool is_aligned() const {
    const auto is_multiple = [](const void* address) {
      return reinterpret_cast<std::uintptr_t>(address) % sizeof(fold::Sixteen<T>) == 0;
    };
    return slices.count % width == 0 && is_multiple(slices.others) && is_multiple(slices.own) &&
           is_multiple(out);
  }

  /// Writes elements [width · index, width · (index + 1)) of the sum. `out` may be the own slice.
  KOKKOS_FUNCTION void operator()(const std::size_t index) const {
    const std::size_t first = index * width;
    Sums sum{};
    Sums waiting[max_rank_levels];  // only used by more than 2^unrolled_levels ranks
    int level = 0;
    for (int rank = 0; rank < ranks;) {
      const TreeNode node = tree_node(rank, ranks, 1 << unrolled_levels);
      sum = sum_of<unrolled_levels>(node.first, node.last, first);
      for (int nodes = node.completed; nodes > 0; --nodes) sum = add(waiting[--level], sum);
      rank = node.last;
      if (rank < ranks) waiting[level++] = sum;
    }
    fold::Sixteen<T> rounded;
    const auto by = static_cast<Sum>(factor);
    for (std::size_t i = 0; i < width; ++i) rounded.element[i] = fold::Narrow<T>::from(by * sum.value[i]);
    *reinterpret_cast<fold::Sixteen<T>*>(out + first) = rounded;
  }

 private:
  using Sum = decltype(fold::widen(T{}));
  struct Sums {
    Sum value[width];
  };
  // An array with a computed index is in memory. Nodes of up to eight ranks are sums by compiled calls.
  static constexpr int unrolled_levels = 3;

  KOKKOS_FORCEINLINE_FUNCTION static Sums add(const Sums& a, const Sums& b) {
    Sums sum;
    for (std::size_t i = 0; i < width; ++i) sum.value[i] = a.value[i] + b.value[i];
    return sum;
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Sums leaf(int rank, std::size_t first) const {
    const auto read = *reinterpret_cast<const fold::Sixteen<T>*>(slices.of(rank) + first);
    Sums sum;
    for (std::size_t i = 0; i < width; ++i) sum.value[i] = fold::widen(read.element[i]);
    return sum;
  }

  /// Returns the sum of a node of at most 2^levels ranks.
  template <int levels>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Sums sum_of(int begin, int end, std::size_t first) const {
    if constexpr (levels > 0) {
      if (end - begin > 1) {
        const int middle = middle_of(begin, end);
        const Sums left = sum_of<levels - 1>(begin, middle, first);
        return add(left, sum_of<levels - 1>(middle, end, first));
      }
    }
    return leaf(begin, first);
  }
};

}  // namespace mylos
