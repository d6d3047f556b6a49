// Whether all ranks run the same code: in a portable build each node's loader takes the copy of the library
// that suits its processor.
#pragma once

#include "mylos/comm/rank_group.hpp"

namespace mylos {

/// Throws Error (bad input) on every rank where another Mylos, or the library's copy for another processor,
/// runs than on rank 0: the replicas' weights would drift apart.
void require_same_code(RankGroup& ranks);

}  // namespace mylos
