// Broadcasts of any size: MPI counts bytes in 32 bits.
#pragma once

#include <cstddef>
#include <span>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// All ranks, with spans of the same size. The bytes of rank `root` arrive on all others.
void broadcast_large(RankGroup& ranks, std::span<std::byte> bytes, int root);

}  // namespace mylos
