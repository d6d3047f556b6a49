// Compares a value that should be the same on all ranks. Messages name the ranks that differ from the
// majority, instead of the first pair that differs.
#pragma once

#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// The ranks that have one value.
struct ValueOfRanks {
  std::string value;
  std::vector<int> ranks;  // ascending
};

/// Returns the distinct values of the ranks, those of the fewest ranks first; at equal counts rank 0's value
/// is last. The result has one entry if all ranks agree, which is found by exchanging a hash, and at most
/// four entries. It is the same on every rank; all ranks call it.
[[nodiscard]] std::vector<ValueOfRanks> values_of_ranks(RankGroup& ranks, const std::string& own);

/// Returns "VALUE on rank 1, VALUE on ranks 0 and 2-5".
[[nodiscard]] std::string describe(const std::vector<ValueOfRanks>& values);

/// Returns "rank 1", "ranks 0 and 2" or "ranks 0-3, 5 and 8"; of many scattered ranks only the first. `ranks`
/// is ascending and not empty.
[[nodiscard]] std::string name_ranks(const std::vector<int>& ranks);

}  // namespace mylos
