// Whether all ranks run the same code: in a portable build each node's loader takes the copy of the library
// that suits its processor.
#pragma once

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Throws Error (bad input), the same on every rank, where ranks run different Mylos or the library's copies
/// for different processors: the replicas' weights would drift apart. It names the odd ranks.
void require_same_code(RankGroup& ranks);

}  // namespace mylos
