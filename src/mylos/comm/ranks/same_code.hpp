// Checks that all ranks run the same code: in a portable build the loader of each node selects the copy of
// the library for its processor.
#pragma once

#include <string_view>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Throws Error (bad input) on every rank if ranks run different versions of Mylos, or copies of the library
/// for different processors: the weights of the replicas would diverge. The message names the ranks that
/// differ.
void require_same_code(RankGroup& ranks);

/// Throws Error (bad input) on every rank if ranks run builds for devices of different vendors, or some of
/// them host builds. `vendor`: device_vendor().
void require_one_vendor(RankGroup& ranks, std::string_view vendor);

}  // namespace mylos
