// FeedForward: y = x + dropout(Wdown·a + b), a = gelu(z) with z = Wup·norm(x) + b (GPT-2; the tanh form of
// gelu), or a = silu(z) ∘ u with z = Wgate·norm(x) + b, u = Wup·norm(x) + b (SwiGLU: Shazeer, arXiv
// 2002.05202).
//
// Rows are tokens. Between x and y lie norm(x) [rows, width] and its statistics, z (and u) and a
// [rows, hidden].
//   "all"    saves all of these
//   "lean"   saves z (and u), recomputes norm(x) and a
//   "input"  recomputes all of these, but not the product with Wdown
#pragma once

#include <memory>

#include "mylos/model/block/residual_branch.hpp"

namespace mylos {

struct FeedForwardOptions {
  BranchOptions branch;
  std::int64_t hidden = 0;
  FeedForwardType type = FeedForwardType::gelu;
};

[[nodiscard]] std::unique_ptr<Block> make_feed_forward_block(FeedForwardOptions options);

}  // namespace mylos
