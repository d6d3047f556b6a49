// The importance of the keys of a sweep: the share of the members' variance that each key explains alone.
//
// The members are ranked by their value, equal ones with the mean of their ranks. The members are grouped by
// a key: by its value of a list, or by quantiles of its range. The key's share is the variance between the
// groups divided by the total variance, eta squared: the main effect of the key (Hutter, Hoos, Leyton-Brown
// 2014, "An efficient approach for assessing hyperparameter importance"). Of ranks it is the statistic H of
// Kruskal and Wallis (1952, "Use of ranks in one-criterion variance analysis") divided by n - 1. Ranks are
// used because one member whose loss has exploded would otherwise be the variance. If a key has no effect,
// the expected share is (groups - 1) / (n - 1).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sweep_folder.hpp"

namespace mylos::app {

/// A group of members with the same value of a key, or with values in a part of its range.
struct KeyGroup {
  std::string value = {};  // of a list
  double low = 0;          // of a range: the least and largest value of its members
  double high = 0;
  std::size_t members = 0;
  double median = 0;  // of the members' values of the metric; may be infinite
  double best = 0;
  double mean_rank = 0;  // 1 is the best
};

struct KeyImportance {
  std::optional<double> share;  // nothing if the key has one group, or all members are equal
  double chance = 0;            // the expected share of a key without effect
  std::vector<KeyGroup> groups;
};

/// The fewest members with which shares are computed.
inline constexpr std::size_t min_ranked_members = 4;

/// Returns an entry for each key of the sweep; empty for fewer than `min_ranked_members` members. `values`:
/// of each member, infinite if it diverged, nothing if it does not count.
[[nodiscard]] std::vector<KeyImportance> importance_of(const StoredSweep& sweep,
                                                       const std::vector<std::optional<double>>& values);

}  // namespace mylos::app
