// The binary tree of sums over things in a row, written down by recursion.
#pragma once

namespace mylos::test {

template <class Value, class Leaf>
Value sum_by_tree(int first, int last, const Leaf& leaf) {
  if (last - first == 1) return leaf(first);
  const int middle = first + (last - first + 1) / 2;
  const Value left = sum_by_tree<Value>(first, middle, leaf);
  return left + sum_by_tree<Value>(middle, last, leaf);
}

}  // namespace mylos::test
