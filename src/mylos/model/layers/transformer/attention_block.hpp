// AttentionBlock: y = x + dropout(Wo·attention(Wqkv·norm(x) + b) + b), causal multi-head attention over the
// tokens of each sample, with optional rotary positions (Vaswani et al., arXiv 1706.03762; GPT-2's order).
//
// Rows are tokens. Between x and y lie norm(x) [rows, width] and its statistics, qkv [rows, 3 width]
// (rotated), the attention's output [rows, width] and the log-sums of its softmax (float, heads per row).
//   "all"    saves all of these
//   "lean"   recomputes norm(x) and its statistics
//   "input"  recomputes all of these, but not the product with Wo
// With a key-value cache the rows continue the cache's sample, and nothing can be saved.
#pragma once

#include <memory>

#include "mylos/model/block/residual_branch.hpp"

namespace mylos {

struct AttentionOptions {
  BranchOptions branch;
  std::int64_t heads = 1;
  bool rotary = false;
  std::size_t layer = 0;  // its index in a key-value cache
};

[[nodiscard]] std::unique_ptr<Block> make_attention_block(AttentionOptions options);

}  // namespace mylos
