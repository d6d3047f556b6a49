#include "mylos/train/run/components/run_health.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/errors/deck.hpp"
#include "mylos/optim/update/parameter_groups.hpp"
#include "mylos/precision/policy.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

bool matches_slot(const std::string& pattern, const ParameterSlot& slot) {
  return matches_pattern(pattern, slot.layer) || matches_pattern(pattern, slot.path());
}

std::vector<std::string> paths_of(const ParameterLayout& layout) {
  std::vector<std::string> paths;
  for (const ParameterSlot& slot : layout.slots) paths.push_back(slot.path());
  return paths;
}

/// Frozen and ignored parameters have an empty path: they are not reported.
std::vector<WatchedParameter> watched_of(const Options& options, const ParameterLayout& layout) {
  std::vector<WatchedParameter> watched;
  for (const ParameterSlot& slot : layout.slots) {
    const bool is_ignored =
        std::any_of(options.health.ignore.begin(), options.health.ignore.end(),
                    [&](const std::string& pattern) { return matches_slot(pattern, slot); });
    const bool is_silent = is_ignored || settings_of(options.optimizer, slot).frozen;
    watched.push_back({is_silent ? "" : slot.path(), slot.spec.is_matrix});
  }
  return watched;
}

}  // namespace

RunHealth::RunHealth(const Options& options, const Trainer& trainer, std::string file)
    : every_(options.health.every),
      watch_(options, trainer.scale_is_dynamic(), watched_of(options, trainer.model().parameters().layout())),
      rows_(std::move(file), paths_of(trainer.model().parameters().layout())) {}

bool RunHealth::is_full(std::int64_t seen, std::int64_t now) const {
  return every_ > 0 && now / every_ - seen / every_ >= Trainer::health_capacity;
}

std::vector<RunEvent> RunHealth::poll(Trainer& trainer, std::int64_t last) {
  const auto from = static_cast<std::uint64_t>(seen_);
  const auto to = static_cast<std::uint64_t>(last);
  std::vector<HealthRecord> health;
  if (every_ > 0) health = trainer.read_health(trainer.quiesce(), from, to);
  std::vector<RunEvent> found;
  auto parameters = health.begin();
  for (const StepRecord& step : trainer.read_records(from, to)) {
    const bool is_seen = parameters != health.end() && parameters->step == step.step;
    watch_.see(step, is_seen ? &*parameters : nullptr, found);
    if (is_seen) rows_.add(*parameters++);
  }
  seen_ = last;
  return found;
}

void RunHealth::save(CheckpointState& state) {
  watch_.save(state);
  rows_.save(state);
}

void RunHealth::make_room(const CheckpointReader& saved, CheckpointState& state) {
  watch_.make_room(saved, state);
  rows_.make_room(saved, state);
}

std::string RunHealth::restore(std::int64_t step) {
  seen_ = step;
  return rows_.restore(static_cast<std::uint64_t>(step));
}

void require_ignored_layers(const HealthOptions& options, const Chain& chain) {
  const ParameterLayout layout = make_parameter_layout(chain, 0, 1);
  for (const std::string& pattern : options.ignore) {
    const auto means = [&](const ParameterSlot& slot) { return matches_slot(pattern, slot); };
    if (std::any_of(layout.slots.begin(), layout.slots.end(), means)) continue;
    const bool is_parameter = pattern.find('/') != std::string::npos;
    std::vector<std::string> names;
    for (auto slot = layout.slots.rbegin(); slot != layout.slots.rend(); ++slot) {
      const std::string name = is_parameter ? slot->path() : slot->layer;
      if (names.empty() || names.back() != name) names.push_back(name);
    }
    fail_input(errors::unknown_name,
               "health.ignore: '{}' is not a {} of this model and matches none; it has {}", pattern,
               is_parameter ? "parameter" : "layer", fmt::join(names, ", "));
  }
}

}  // namespace mylos
