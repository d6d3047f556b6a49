// Finds blocks of a chain that do the same work, so that one measured time serves for all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns for each block the first block of the chain that agrees with it in everything that its time
/// depends on: kind, widths, types, parameters, bytes and FLOPs for `rows` rows. The chain's first block
/// agrees with no other, because it computes no gradient of its input.
[[nodiscard]] std::vector<std::size_t> first_of_shape(const Chain& chain, const Engines& engines,
                                                      std::int64_t rows);

/// Returns the blocks that are among the first `copies` of their shape, and all blocks up to the one whose
/// parameter the head borrows.
[[nodiscard]] std::vector<std::size_t> first_copies(const Chain& chain,
                                                    const std::vector<std::size_t>& shapes,
                                                    std::size_t copies);

/// Returns a chain of these blocks (ascending) and the head. A block's output need not match the next block's
/// input.
[[nodiscard]] Chain part_of(const Chain& chain, const std::vector<std::size_t>& blocks);

}  // namespace mylos
