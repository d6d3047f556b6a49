#include "sweep_importance.hpp"

#include <algorithm>
#include <cmath>

#include "csv_rows.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_quantiles = 4;
constexpr std::size_t min_members_of_quantile = 4;
constexpr std::size_t no_group = static_cast<std::size_t>(-1);

struct RankedMember {
  std::size_t member = 0;
  double value = 0;
  double rank = 0;
};

/// The members that count, the best first.
std::vector<RankedMember> ranked(const StoredSweep& sweep, const std::vector<std::optional<double>>& values) {
  std::vector<RankedMember> members;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) members.push_back({i, *values[i], 0});
  std::stable_sort(members.begin(), members.end(), [&](const RankedMember& one, const RankedMember& other) {
    return sweep.is_better(one.value, other.value);
  });
  for (std::size_t first = 0; first < members.size();) {
    std::size_t end = first + 1;
    while (end < members.size() && members[end].value == members[first].value) ++end;
    for (std::size_t i = first; i < end; ++i)
      members[i].rank = static_cast<double>(first + 1 + end) / 2;  // the mean of first + 1 to end
    first = end;
  }
  return members;
}

/// Returns the group of each ranked member in the list of a key.
std::vector<std::size_t> groups_of_list(const StoredSweep& sweep, std::size_t key,
                                        const std::vector<RankedMember>& members) {
  const std::vector<std::string>& values = sweep.keys[key].values;
  std::vector<std::size_t> groups;
  for (const RankedMember& member : members) {
    const auto found = std::find(values.begin(), values.end(), sweep.members[member.member].values[key]);
    groups.push_back(found == values.end() ? no_group : static_cast<std::size_t>(found - values.begin()));
  }
  return groups;
}

/// The same in quantiles of a range; members of equal value are in one group.
std::vector<std::size_t> groups_of_range(const StoredSweep& sweep, std::size_t key,
                                         const std::vector<RankedMember>& members) {
  std::vector<double> sorted;
  for (const RankedMember& member : members)
    if (const auto value = number_of(sweep.members[member.member].values[key])) sorted.push_back(*value);
  std::sort(sorted.begin(), sorted.end());
  const std::size_t quantiles =
      std::clamp<std::size_t>(sorted.size() / min_members_of_quantile, 2, max_quantiles);
  std::vector<std::size_t> groups;
  for (const RankedMember& member : members) {
    const auto value = number_of(sweep.members[member.member].values[key]);
    if (!value) {
      groups.push_back(no_group);
      continue;
    }
    const auto below =
        static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), *value) - sorted.begin());
    groups.push_back(below * quantiles / sorted.size());
  }
  return groups;
}

double median_of(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 1 || std::isinf(sorted[half])) return sorted[half];
  return (sorted[half - 1] + sorted[half]) / 2;
}

KeyGroup group_of(const StoredSweep& sweep, std::size_t key, std::size_t key_group,
                  const std::vector<RankedMember>& members, const std::vector<std::size_t>& groups) {
  KeyGroup made;
  std::vector<double> values;  // the best first
  double ranks = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (groups[i] != key_group) continue;
    values.push_back(members[i].value);
    ranks += members[i].rank;
    const std::string& text = sweep.members[members[i].member].values[key];
    if (!sweep.keys[key].is_range) {
      made.value = text;
    } else {
      const double value = number_of(text).value_or(0);
      made.low = values.size() == 1 ? value : std::min(made.low, value);
      made.high = values.size() == 1 ? value : std::max(made.high, value);
    }
  }
  made.members = values.size();
  if (values.empty()) return made;
  made.best = values.front();
  made.median = median_of(values);
  made.mean_rank = ranks / static_cast<double>(values.size());
  return made;
}

KeyImportance importance_of_key(const StoredSweep& sweep, std::size_t key,
                                const std::vector<RankedMember>& members) {
  const std::vector<std::size_t> groups =
      sweep.keys[key].is_range ? groups_of_range(sweep, key, members) : groups_of_list(sweep, key, members);
  const std::size_t most = sweep.keys[key].is_range ? max_quantiles : sweep.keys[key].values.size();
  KeyImportance importance;
  for (std::size_t key_group = 0; key_group < most; ++key_group) {
    KeyGroup made = group_of(sweep, key, key_group, members, groups);
    if (made.members > 0) importance.groups.push_back(std::move(made));
  }
  double count = 0;
  double sum = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (groups[i] == no_group) continue;
    count += 1;
    sum += members[i].rank;
  }
  const double mean = sum / count;
  double total = 0;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (groups[i] != no_group) total += (members[i].rank - mean) * (members[i].rank - mean);
  if (importance.groups.size() < 2 || !(total > 0)) return importance;
  double between = 0;
  for (const KeyGroup& key_group : importance.groups)
    between +=
        static_cast<double>(key_group.members) * (key_group.mean_rank - mean) * (key_group.mean_rank - mean);
  importance.share = between / total;
  importance.chance = static_cast<double>(importance.groups.size() - 1) / (count - 1);
  return importance;
}

}  // namespace

std::vector<KeyImportance> importance_of(const StoredSweep& sweep,
                                         const std::vector<std::optional<double>>& values) {
  const std::vector<RankedMember> members = ranked(sweep, values);
  if (members.size() < min_ranked_members) return {};
  std::vector<KeyImportance> importance;
  for (std::size_t key = 0; key < sweep.keys.size(); ++key)
    importance.push_back(importance_of_key(sweep, key, members));
  return importance;
}

}  // namespace mylos::app
