#include "mylos/model/parameters/parameter_names.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

constexpr std::size_t names_to_tell = 4;
constexpr std::size_t longest_compared_name = 200;  // bytes

}  // namespace

std::vector<std::string> parameter_names(const Chain& chain) {
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& parameter : chain.stage_parameters(stage))
      names.push_back(chain.stage_name(stage) + "/" + parameter.name);
  }
  return names;
}

std::string nearest_names(const std::string& wanted, std::vector<std::string> names) {
  std::vector<std::pair<std::size_t, std::string>> by_distance;
  for (std::string& name : names) {
    // For much longer names the distance is nearly their length, so it is not computed.
    const bool is_long = name.size() > longest_compared_name;
    const std::size_t distance = is_long ? name.size() : edit_distance(wanted, name);
    by_distance.emplace_back(distance, std::move(name));
  }
  std::stable_sort(by_distance.begin(), by_distance.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  by_distance.resize(std::min(by_distance.size(), names_to_tell));
  std::vector<std::string> nearest;
  for (auto& [distance, name] : by_distance) nearest.push_back(std::move(name));
  return fmt::format("{}", fmt::join(nearest, ", "));
}

void require_match(const std::string& where, const std::string& pattern,
                   const std::vector<std::string>& names) {
  const auto matches = [&](const std::string& name) { return matches_pattern(pattern, name); };
  if (std::any_of(names.begin(), names.end(), matches)) return;
  fail_input(errors::unknown_name, "{}: '{}' matches no tensor of this model; the most similar are {}", where,
             printable(pattern), nearest_names(pattern, names));
}

}  // namespace mylos
