#include "mylos/optim/parameter_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/nearest.hpp"
#include "mylos/base/text.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

constexpr std::size_t names_to_tell = 4;

std::vector<std::string> names_of(const Chain& chain) {
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& parameter : chain.stage_parameters(stage))
      names.push_back(chain.stage_name(stage) + "/" + parameter.name);
  }
  return names;
}

std::string nearest_names(const std::string& pattern, std::vector<std::string> names) {
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(pattern, a) < edit_distance(pattern, b);
  });
  names.resize(std::min(names.size(), names_to_tell));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

ParameterSettings settings_of(const OptimizerOptions& options, const ParameterSlot& slot) {
  ParameterSettings settings{.lr_factor = slot.spec.lr_factor,
                             .decay = slot.spec.decay_factor * static_cast<float>(options.weight_decay)};
  for (const ParameterGroup& group : options.groups) {
    const auto matches = [&](const std::string& pattern) { return matches_pattern(pattern, slot.path()); };
    if (std::none_of(group.match.begin(), group.match.end(), matches)) continue;
    if (group.lr_factor) settings.lr_factor = slot.spec.lr_factor * static_cast<float>(*group.lr_factor);
    if (group.weight_decay) settings.decay = static_cast<float>(*group.weight_decay);
    if (group.frozen) settings.frozen = *group.frozen;
  }
  return settings;
}

void require_groups_match(const Chain& chain, const OptimizerOptions& options) {
  if (options.groups.empty()) return;
  const std::vector<std::string> names = names_of(chain);
  for (const ParameterGroup& group : options.groups) {
    for (const std::string& pattern : group.match) {
      const auto matches = [&](const std::string& name) { return matches_pattern(pattern, name); };
      if (std::any_of(names.begin(), names.end(), matches)) continue;
      fail_input("optimizer.groups: '{}' matches no tensor of this model; near ones are {}",
                 printable(pattern), nearest_names(pattern, names));
    }
  }
}

}  // namespace mylos
