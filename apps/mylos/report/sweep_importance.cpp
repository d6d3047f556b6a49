#include "sweep_importance.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "mylos/base/numbers/number_text.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_quantiles = 4;
constexpr std::size_t min_members_of_quantile = 4;

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

/// The members of each group that has some, the best first; by the group's index in the list or range.
using Groups = std::map<std::size_t, std::vector<RankedMember>>;

const std::string& text_of(const StoredSweep& sweep, std::size_t key, const RankedMember& member) {
  return sweep.members[member.member].values[key];
}

Groups groups_of_list(const StoredSweep& sweep, std::size_t key, const std::vector<RankedMember>& members) {
  const std::vector<std::string>& values = sweep.keys[key].values;
  Groups groups;
  for (const RankedMember& member : members) {
    const auto found = std::find(values.begin(), values.end(), text_of(sweep, key, member));
    if (found != values.end()) groups[static_cast<std::size_t>(found - values.begin())].push_back(member);
  }
  return groups;
}

/// The same in quantiles of a range; members of equal value are in one group.
Groups groups_of_range(const StoredSweep& sweep, std::size_t key, const std::vector<RankedMember>& members) {
  std::vector<double> sorted;
  for (const RankedMember& member : members)
    if (const auto value = to_number<double>(text_of(sweep, key, member))) sorted.push_back(*value);
  std::sort(sorted.begin(), sorted.end());
  const std::size_t quantiles =
      std::clamp<std::size_t>(sorted.size() / min_members_of_quantile, 2, max_quantiles);
  Groups groups;
  for (const RankedMember& member : members) {
    const auto value = to_number<double>(text_of(sweep, key, member));
    if (!value) continue;
    const auto below =
        static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), *value) - sorted.begin());
    groups[below * quantiles / sorted.size()].push_back(member);
  }
  return groups;
}

double median_of(const std::vector<RankedMember>& members) {
  const std::size_t half = members.size() / 2;
  const double middle = members[half].value;
  if (members.size() % 2 == 1 || std::isinf(middle)) return middle;
  return (members[half - 1].value + middle) / 2;
}

KeyGroup group_of(const StoredSweep& sweep, std::size_t key, const std::vector<RankedMember>& members) {
  KeyGroup made{.members = members.size(), .median = median_of(members), .best = members.front().value};
  for (const RankedMember& member : members) made.mean_rank += member.rank;
  made.mean_rank /= static_cast<double>(members.size());
  if (!sweep.keys[key].is_range()) {
    made.value = text_of(sweep, key, members.front());
    return made;
  }
  std::vector<double> values;
  for (const RankedMember& member : members)
    values.push_back(to_number<double>(text_of(sweep, key, member)).value_or(0));
  made.low = *std::min_element(values.begin(), values.end());
  made.high = *std::max_element(values.begin(), values.end());
  return made;
}

KeyImportance importance_of_key(const StoredSweep& sweep, std::size_t key,
                                const std::vector<RankedMember>& members) {
  const Groups groups =
      sweep.keys[key].is_range() ? groups_of_range(sweep, key, members) : groups_of_list(sweep, key, members);
  KeyImportance importance;
  double count = 0;
  double sum = 0;
  for (const auto& [index, group] : groups) {
    importance.groups.push_back(group_of(sweep, key, group));
    count += static_cast<double>(group.size());
    for (const RankedMember& member : group) sum += member.rank;
  }
  const double mean = sum / count;
  double total = 0;
  for (const auto& [index, group] : groups)
    for (const RankedMember& member : group) total += (member.rank - mean) * (member.rank - mean);
  if (importance.groups.size() < 2 || !(total > 0)) return importance;
  double between = 0;
  for (const KeyGroup& group : importance.groups)
    between += static_cast<double>(group.members) * (group.mean_rank - mean) * (group.mean_rank - mean);
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
