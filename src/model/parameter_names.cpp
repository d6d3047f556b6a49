#include "mylos/model/parameter_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/nearest.hpp"
#include "mylos/base/text.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

constexpr std::size_t names_to_tell = 4;

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
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(wanted, a) < edit_distance(wanted, b);
  });
  names.resize(std::min(names.size(), names_to_tell));
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_match(const std::string& where, const std::string& pattern,
                   const std::vector<std::string>& names) {
  const auto matches = [&](const std::string& name) { return matches_pattern(pattern, name); };
  if (std::any_of(names.begin(), names.end(), matches)) return;
  fail_input("{}: '{}' matches no tensor of this model; near ones are {}", where, printable(pattern),
             nearest_names(pattern, names));
}

}  // namespace mylos
