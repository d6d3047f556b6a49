// The binary tree that defines the order of sums over a sequence: over ranks, and in reproducible runs over
// micro-batches.
//
// A node over [first, last) is split after its first half, which is the larger one if the count is odd. If
// 2^k · m leaves are divided into 2^k parts of m, every part is a node. Its sum can be computed separately,
// and the parts can then be summed by the tree above them; the result has the same bits as a sum on one
// rank.
//
// A sum visits the leaves from left to right and stores the partial sums that wait for their right neighbour,
// newest last. After each leaf, completed_nodes() of the waiting sums are added to it, newest first.
#pragma once

#include <Kokkos_Macros.hpp>

namespace mylos {

/// Returns where the node over [first, last) is split.
KOKKOS_INLINE_FUNCTION constexpr int middle_of(int first, int last) {
  return first + (last - first + 1) / 2;
}

/// A node over the leaves [first, last).
struct TreeNode {
  int first = 0;
  int last = 0;
  int completed = 0;  // nodes that become complete when this one is added to those before it
};

/// Returns the largest node of at most `max_leaves` leaves that has the leaf `leaf`.
KOKKOS_INLINE_FUNCTION constexpr TreeNode tree_node(int leaf, int leaves, int max_leaves) {
  TreeNode node{0, leaves, 0};
  while (node.last - node.first > max_leaves) {
    const int middle = middle_of(node.first, node.last);
    if (leaf < middle) {
      node.last = middle;
      node.completed = 0;
    } else {
      node.first = middle;
      ++node.completed;
    }
  }
  return node;
}

/// Returns the number of nodes that become complete when leaf `leaf` of a tree over `leaves` leaves is added.
KOKKOS_INLINE_FUNCTION constexpr int completed_nodes(int leaf, int leaves) {
  return tree_node(leaf, leaves, 1).completed;
}

/// The maximum depth of a tree over ranks: 2^20 ranks.
inline constexpr int max_rank_levels = 20;

/// Returns the maximum number of sums that wait at one time: ⌈log2(leaves)⌉.
KOKKOS_INLINE_FUNCTION constexpr int max_waiting(int leaves) {
  int levels = 0;
  for (int width = 1; width < leaves; width *= 2) ++levels;
  return levels;
}

/// Returns the sum of value_of(i) for i in [0, count), of at most 2^20.
template <class T, class ValueOf>
KOKKOS_INLINE_FUNCTION T sum_by_tree(int count, const ValueOf& value_of) {
  T waiting[max_rank_levels];
  T sum = 0;
  int level = 0;
  for (int i = 0; i < count; ++i) {
    sum = value_of(i);
    for (int nodes = completed_nodes(i, count); nodes > 0; --nodes) sum = waiting[--level] + sum;
    if (i + 1 < count) waiting[level++] = sum;
  }
  return sum;
}

}  // namespace mylos
