#include "mylos/optim/update/parameter_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/parameters/parameter_names.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

bool matches(const ParameterGroup& group, const ParameterSlot& slot) {
  return std::any_of(group.match.begin(), group.match.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, slot.path()); });
}

}  // namespace

ParameterSettings settings_of(const OptimizerOptions& options, const ParameterSlot& slot) {
  ParameterSettings settings{.lr_factor = slot.spec.lr_factor,
                             .decay = slot.spec.decay_factor * static_cast<float>(options.weight_decay)};
  for (const ParameterGroup& group : options.groups) {
    if (!matches(group, slot)) continue;
    if (group.lr_factor) settings.lr_factor = slot.spec.lr_factor * static_cast<float>(*group.lr_factor);
    if (group.weight_decay) settings.decay = static_cast<float>(*group.weight_decay);
    if (group.frozen) settings.frozen = *group.frozen;
  }
  return settings;
}

void require_groups_match(const Chain& chain, const OptimizerOptions& options, const Places& places) {
  if (options.groups.empty()) return;
  const std::vector<std::string> names = parameter_names(chain);
  for (std::size_t i = 0; i < options.groups.size(); ++i) {
    const std::string location =
        place_of(places, {fmt::format("optimizer.groups.{}", i + 1), "optimizer.groups"});
    for (const std::string& pattern : options.groups[i].match)
      require_match(location + "optimizer.groups", pattern, names);
  }
  const ParameterLayout layout = make_parameter_layout(chain, 0, 1);
  const auto is_frozen = [&](const ParameterSlot& slot) { return settings_of(options, slot).frozen; };
  for (std::size_t i = 0; i < options.groups.size(); ++i) {
    const ParameterGroup& group = options.groups[i];
    const auto learns = [&](const ParameterSlot& slot) { return matches(group, slot) && !is_frozen(slot); };
    if (!(group.lr_factor || group.weight_decay) ||
        std::any_of(layout.slots.begin(), layout.slots.end(), learns))
      continue;
    fail_input(
        errors::key_without_effect,
        "{}optimizer.groups: '{}' has no effect, because all parameters of this group are frozen; leave "
        "it out, or freeze fewer",
        place_of(places, {fmt::format("optimizer.groups.{}", i + 1), "optimizer.groups"}),
        group.lr_factor ? "lr_factor" : "weight_decay");
  }
  if (!std::all_of(layout.slots.begin(), layout.slots.end(), is_frozen)) return;
  fail_input(
      errors::keys_conflict,
      "{}optimizer.groups: every parameter of this model is frozen, and a run would train nothing; leave one "
      "of them out, or use `mylos eval` with the weights",
      place_of(places, {fmt::format("optimizer.groups.{}", options.groups.size()), "optimizer.groups"}));
}

}  // namespace mylos
