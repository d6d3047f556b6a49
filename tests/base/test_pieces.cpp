// Workspaces that are split by the function that states their bytes.
#include "mylos/base/pieces.hpp"

#include <gtest/gtest.h>

#include <array>

namespace mylos::pieces_test {

TEST(Pieces, LieOneBehindTheOtherOnWholeLines) {
  alignas(arena_alignment) std::array<std::byte, 1024> workspace{};
  Pieces pieces(workspace.data());
  EXPECT_EQ(pieces.take_bytes(1), workspace.data());
  EXPECT_EQ(static_cast<void*>(pieces.take<double>(9)), workspace.data() + 64);
  const Tensor tensor = pieces.take_tensor(DType::fp16, 3, 11);
  EXPECT_EQ(tensor.data(), workspace.data() + 192);
  EXPECT_EQ(tensor.rows(), 3);
  EXPECT_EQ(tensor.columns(), 11);
  EXPECT_EQ(tensor.type(), DType::fp16);
  EXPECT_EQ(pieces.take_bytes(0), workspace.data() + 320);
  EXPECT_EQ(pieces.bytes(), 320u);
}

TEST(Pieces, OfNoWorkspaceAreOnlyCounted) {
  Pieces pieces(nullptr);
  EXPECT_EQ(pieces.take<float>(100), nullptr);
  EXPECT_TRUE(pieces.take_tensor(DType::fp32, 4, 4).empty());
  EXPECT_EQ(pieces.bytes(), 512u);
}

}  // namespace mylos::pieces_test
