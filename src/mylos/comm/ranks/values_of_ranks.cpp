#include "mylos/comm/ranks/values_of_ranks.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "mylos/base/numbers/hash.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_values = 4;  // whose texts are exchanged
constexpr std::size_t max_named = 8;   // ranks, or ranges of ranks

struct Digest {
  std::uint64_t hash = 0;
  std::uint64_t length = 0;

  bool operator==(const Digest&) const = default;
};

}  // namespace

std::vector<ValueOfRanks> values_of_ranks(RankGroup& ranks, const std::string& own) {
  const Digest mine{hash_bytes(own), own.size()};
  std::vector<Digest> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, all.data(), sizeof(Digest));

  std::vector<ValueOfRanks> values;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto digest_of = [&](int other) { return all[static_cast<std::size_t>(other)]; };
    const auto known = std::find_if(values.begin(), values.end(), [&](const ValueOfRanks& value) {
      return digest_of(value.ranks.front()) == digest_of(rank);
    });
    if (known == values.end()) {
      values.push_back({"", {rank}});
    } else {
      known->ranks.push_back(rank);
    }
  }
  std::reverse(values.begin(), values.end());
  std::stable_sort(values.begin(), values.end(), [](const ValueOfRanks& a, const ValueOfRanks& b) {
    return a.ranks.size() < b.ranks.size();
  });
  values.resize(std::min(values.size(), max_values));
  for (ValueOfRanks& value : values)
    value.value = values.size() == 1 ? own : broadcast_text(ranks, own, value.ranks.front());
  return values;
}

std::string describe(const std::vector<ValueOfRanks>& values) {
  std::vector<std::string> parts;
  for (const ValueOfRanks& value : values)
    parts.push_back(fmt::format("{} on {}", value.value, name_ranks(value.ranks)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t first = 0, last = 0; first < ranks.size(); first = ++last) {
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last - first == 1) --last;  // two ranks are named individually
    parts.push_back(first == last ? fmt::format("{}", ranks[first])
                                  : fmt::format("{}-{}", ranks[first], ranks[last]));
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  if (parts.size() > max_named) {
    parts.resize(max_named);
    return text + fmt::format("{}, ...", fmt::join(parts, ", "));
  }
  const std::string end = parts.back();
  parts.pop_back();
  if (parts.empty()) return text + end;
  return text + fmt::format("{} and {}", fmt::join(parts, ", "), end);
}

}  // namespace mylos
