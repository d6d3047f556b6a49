// Who has which value of what should be the same on all ranks: the odd rank is named, not the first that
// another one differs from.
#pragma once

#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// The ranks that have one value.
struct ValueOfRanks {
  std::string value;
  std::vector<int> ranks;  // in their order
};

/// Every value that some rank brings, those of the fewest ranks first; where as many have each, rank 0's is
/// the last. One where all are alike: that is found by exchanging a hash. Of more than four the first four.
/// The same on every rank; all ranks call it.
[[nodiscard]] std::vector<ValueOfRanks> values_of_ranks(RankGroup& ranks, const std::string& own);

/// "VALUE on rank 1, VALUE on ranks 0 and 2-5".
[[nodiscard]] std::string describe(const std::vector<ValueOfRanks>& values);

/// "rank 1", "ranks 0 and 2", "ranks 0-3, 5 and 8"; of scattered ones the first. `ranks` in their order, at
/// least one.
[[nodiscard]] std::string name_ranks(const std::vector<int>& ranks);

}  // namespace mylos
