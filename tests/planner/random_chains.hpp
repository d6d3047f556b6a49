// Chains of random bytes and times for tests of the planner.
#pragma once

#include <cstddef>
#include <random>

#include "mylos/base/alignment.hpp"
#include "mylos/model/chain/chain_cost.hpp"

namespace mylos::test {

struct RandomChainShape {
  std::size_t blocks = 4;
  std::size_t max_variants = 2;
  std::size_t max_units = 8;                 // of every tensor
  std::size_t unit_bytes = arena_alignment;  // or a multiple of it
  bool input_in_arena = false;
  double skips = 0;  // probability that a block reads an earlier boundary too
};

/// Times are whole milliseconds, which float adds without rounding. Variant 0 recomputes nothing; the others
/// save less and take longer.
[[nodiscard]] ChainCost random_chain(std::mt19937_64& generator, const RandomChainShape& shape);

/// `blocks` blocks: those of `pattern` again and again. Skips stay within a repetition.
[[nodiscard]] ChainCost repeated_chain(const ChainCost& pattern, std::size_t blocks);

/// 2 · layers blocks with the proportions of a GPT's attention and MLP in 16 bits, of `width_bytes` per
/// boundary activation; `spread` > 1 multiplies every tensor by a random number from 1/spread to spread.
[[nodiscard]] ChainCost gpt_chain(std::mt19937_64& generator, std::size_t layers, double width_bytes,
                                  double spread);

}  // namespace mylos::test
