// The tree of sums, defined recursively.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mylos/base/numbers/binary_tree.hpp"

namespace mylos {
namespace {

template <class Leaf>
std::string by_recursion(int first, int last, const Leaf& leaf) {
  if (last - first == 1) return leaf(first);
  const int middle = first + (last - first + 1) / 2;
  return "(" + by_recursion(first, middle, leaf) + "+" + by_recursion(middle, last, leaf) + ")";
}

std::string number(int leaf) {
  return std::to_string(leaf);
}

/// Returns leaves [first, first + leaves) in the order in which a sum visits them.
std::string from_left_to_right(int first, int leaves, std::size_t& max) {
  std::vector<std::string> waiting;
  std::string sum;
  for (int leaf = 0; leaf < leaves; ++leaf) {
    sum = std::to_string(first + leaf);
    for (int nodes = completed_nodes(leaf, leaves); nodes > 0; --nodes) {
      sum = "(" + waiting.back() + "+" + sum + ")";
      waiting.pop_back();
    }
    if (leaf + 1 == leaves) break;
    waiting.push_back(sum);
    max = std::max(max, waiting.size());
  }
  EXPECT_TRUE(waiting.empty());
  return sum;
}

TEST(BinaryTree, ASumFromLeftToRightIsTheTree) {
  for (int leaves = 1; leaves <= 40; ++leaves) {
    std::size_t max = 0;
    EXPECT_EQ(from_left_to_right(0, leaves, max), by_recursion(0, leaves, number));
    EXPECT_LE(max, static_cast<std::size_t>(max_waiting(leaves)));
  }
}

TEST(BinaryTree, PowersOfTwoPartsOfItAreNodes) {
  for (const int leaves : {8, 12, 24, 40}) {
    for (int parts = 2; parts <= 8 && leaves % parts == 0; parts *= 2) {
      std::size_t max = 0;
      const int width = leaves / parts;
      const auto part = [&](int index) { return from_left_to_right(index * width, width, max); };
      EXPECT_EQ(by_recursion(0, parts, part), by_recursion(0, leaves, number)) << leaves << " in " << parts;
    }
  }
}

TEST(BinaryTree, WaitingSumsAreItsHeight) {
  EXPECT_EQ(max_waiting(1), 0);
  EXPECT_EQ(max_waiting(2), 1);
  EXPECT_EQ(max_waiting(3), 2);
  EXPECT_EQ(max_waiting(8), 3);
  EXPECT_EQ(max_waiting(9), 4);
}

}  // namespace
}  // namespace mylos
