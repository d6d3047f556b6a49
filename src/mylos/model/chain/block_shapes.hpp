// Which blocks of a chain do the same work, so that the time of one is that of all.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// For each block the first block of the chain that is like it in all that its time depends on: kind, widths,
/// types, parameters, bytes and FLOPs of `rows` rows. The chain's first block is like no other: it computes
/// no gradient of its input.
[[nodiscard]] std::vector<std::size_t> first_of_shape(const Chain& chain, const GemmEngine& gemm,
                                                      std::int64_t rows);

/// The blocks that are among the first `copies` of their shape, and those up to the one whose parameter the
/// head borrows.
[[nodiscard]] std::vector<std::size_t> first_copies(const Chain& chain,
                                                    const std::vector<std::size_t>& shapes,
                                                    std::size_t copies);

/// These blocks of the chain (ascending) and its head. What a block writes need not be what the next one
/// reads.
[[nodiscard]] Chain part_of(Chain chain, const std::vector<std::size_t>& blocks);

}  // namespace mylos
