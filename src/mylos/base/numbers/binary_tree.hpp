// The binary tree by which things in a row are added up: ranks, and in reproducible runs micro-batches.
//
// A node over [first, last) splits behind its first half, the larger one where there are two. So where
// 2^k · m leaves are cut into 2^k parts of m, every part is a node: it can be added up by itself, and the
// parts then above it, with the same bits as all in one place.
//
// A sum goes through the leaves from left to right and keeps what still waits for its right neighbour, newest
// last. After each leaf completed_nodes() of those that wait are added to it, newest first.
#pragma once

#include <Kokkos_Macros.hpp>

namespace mylos {

/// How many nodes of a tree over `leaves` leaves are complete once leaf `leaf` is there.
KOKKOS_INLINE_FUNCTION constexpr int completed_nodes(int leaf, int leaves) {
  int first = 0;
  int last = leaves;
  int complete = 0;
  while (last - first > 1) {
    const int middle = first + (last - first + 1) / 2;
    if (leaf < middle) {
      last = middle;
      complete = 0;
    } else {
      first = middle;
      ++complete;
    }
  }
  return complete;
}

/// Of a tree over ranks: room for 2^20 of them.
inline constexpr int max_rank_levels = 20;

/// The most sums that wait at one time: ⌈log2(leaves)⌉.
KOKKOS_INLINE_FUNCTION constexpr int max_waiting(int leaves) {
  int levels = 0;
  for (int width = 1; width < leaves; width *= 2) ++levels;
  return levels;
}

}  // namespace mylos
