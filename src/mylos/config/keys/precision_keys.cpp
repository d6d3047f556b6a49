// [precision] and [precision.scaler].
#include <fmt/format.h>

#include <algorithm>

#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/type_words.hpp"
#include "mylos/precision/recent_overflows.hpp"
#include "mylos/precision/scaler_presets.hpp"

namespace mylos {
namespace {

/// Reads one rule. A repeated pattern moves to the end, where it takes precedence.
Found read_rule(Options& options, const NamedValue& entry) {
  const auto* held = std::get_if<std::string>(&entry.value.held);
  const auto word = std::find_if(type_words().begin(), type_words().end(), [&](const auto& candidate) {
    return held != nullptr && candidate.first == *held;
  });
  const std::string where = " for '" + printable(entry.name) + '\'';
  if (!is_name(entry.name)) return "an entry" + where;
  if (word == type_words().end()) {
    const bool nested = std::holds_alternative<Value::Table>(entry.value.held);
    return describe(entry.value) + where + (nested ? " (a pattern with dots needs quotes)" : "");
  }
  auto& rules = options.precision.rules;
  std::erase_if(rules, [&](const PrecisionRule& rule) { return rule.pattern == entry.name; });
  rules.push_back({entry.name, word->second});
  return std::nullopt;
}

void fill_rules(Key& key) {
  key.has_entries = true;
  key.read = [](Options& options, const Value& value) -> Found {
    const auto* table = std::get_if<Value::Table>(&value.held);
    if (table == nullptr) return describe(value);
    for (const NamedValue& entry : *table) {
      if (auto found = read_rule(options, entry)) return found;
    }
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    Value::Table table;
    for (const PrecisionRule& rule : options.precision.rules) {
      table.push_back({rule.pattern, {std::string(name_of(rule.type))}});
    }
    return Value{std::move(table)};
  };
  key.clear = [](Options& options) { options.precision.rules.clear(); };
}

void fill_preset(Key& key) {
  for (const ScalerPreset& preset : scaler_presets) key.choices.emplace_back(preset.name);
  key.type = alternatives(key.choices);
  key.default_text = "\"standard\"";
  key.read = [](Options& options, const Value& value) -> Found {
    const auto* held = std::get_if<std::string>(&value.held);
    for (const ScalerPreset& preset : scaler_presets) {
      if (held == nullptr || *held != preset.name) continue;
      preset.apply(options.precision.scaler);
      return std::nullopt;
    }
    return describe(value);
  };
  key.comes_first = true;
  // The resolved deck lists the parameters themselves.
  key.write = [](const Options&) -> std::optional<Value> { return std::nullopt; };
}

/// Returns "conservative: 32768, 1.5, 5000; aggressive: ...": the values of all presets but the default.
std::string values_of_presets() {
  std::string text;
  for (const ScalerPreset& preset : scaler_presets) {
    if (preset.name == scaler_presets.front().name) continue;
    text += fmt::format("{}{}: {}, {:g}, {}", text.empty() ? "" : "; ", preset.name, preset.initial_scale,
                        preset.growth_factor, preset.growth_interval);
  }
  return text;
}

/// A rewind also lowers a static loss scale.
Condition with_decreasing_scale() {
  Condition condition = with_dynamic_scale();
  condition.text += " or one that a rewind lowers (health.on_divergence = \"rewind\")";
  condition.holds = [moves = std::move(condition.holds),
                     has_scale = with_loss_scale().holds](const Options& options) {
    const bool rewinds = options.health.on_divergence == OnDivergence::rewind;
    return moves(options) || (rewinds && has_scale(options));
  };
  return condition;
}

void add_scaler_keys(Schema& schema) {
  Keys keys(
      schema, "precision.scaler", "The loss scaler, which keeps small gradients from vanishing in 16 bits.",
      [](auto& options) -> auto& { return options.precision.scaler; });
  constexpr NumberRange scale{1e-30, true, 1e30, true};
  keys.choice(
      "mode", &ScalerOptions::mode,
      Words<ScalerMode>{{"auto", ScalerMode::automatic},
                        {"dynamic", ScalerMode::dynamic},
                        {"static", ScalerMode::fixed},
                        {"off", ScalerMode::off}},
      "dynamic: the scale follows overflows; static: the scale is constant; off: no scale. auto: dynamic for "
      "fp16, off otherwise. In every mode all ranks skip a step with non-finite gradients.");
  fill_preset(
      keys.add("preset", "", "",
               "Sets `initial_scale`, `growth_factor` and `growth_interval`; values given for these keys "
               "take precedence, but a preset that a deck or a command line thereby leaves without effect is "
               "refused. " +
                   values_of_presets() +
                   ". small, medium and large are for networks of fewer than 10 million weights, up to 100 "
                   "million, and more; `docs/explanation/numerics.md` says what they are good for."));
  keys.number("initial_scale", &ScalerOptions::initial_scale, scale, "", "The loss scale of the first step.");
  keys.number("growth_factor", &ScalerOptions::growth_factor, {1, false, 65536, true}, "",
              "Factor by which the scale grows after `growth_interval` good steps.");
  keys.number("backoff_factor", &ScalerOptions::backoff_factor, {0, false, 1, false}, "",
              "Factor by which the scale falls when gradients overflow.");
  keys.integer("growth_interval", &ScalerOptions::growth_interval, {1, max_count}, "steps",
               "Number of consecutive good steps before the scale grows.");
  keys.integer("hysteresis", &ScalerOptions::hysteresis, {1, max_count}, "overflows",
               "The scale backs off at this number of overflows since the last refill, and at each later "
               "one. 1: at every overflow.");
  keys.choice("hysteresis_refill", &ScalerOptions::hysteresis_refill,
              Words<HysteresisRefill>{{"growth", HysteresisRefill::growth},
                                      {"good_step", HysteresisRefill::good_step}},
              "When the count of tolerated overflows restarts: when the scale grows, or at each good step.");
  keys.integer("backoff_window", &ScalerOptions::backoff_window, {0, RecentOverflows::length}, "steps",
               "The scale backs off only after `backoff_overflows` overflows within this number of steps. "
               "Replaces `hysteresis`, which must be 1. The count restarts after a backoff. 0: off.");
  keys.integer("backoff_overflows", &ScalerOptions::backoff_overflows, {1, RecentOverflows::length},
               "overflows", "Number of overflows within `backoff_window` at which the scale backs off.");
  keys.number("min_scale", &ScalerOptions::min_scale, scale, "", "The scale never falls below this.");
  keys.number("max_scale", &ScalerOptions::max_scale, scale, "", "The scale never grows above this.");
  keys.integer("max_consecutive_skips", &ScalerOptions::max_consecutive_skips, {1, max_count}, "steps",
               "The run ends as diverged after this number of consecutive skips, counted from the first skip "
               "at `min_scale` with a dynamic scale, otherwise from the first skip.");
  keys.boolean("reset", &ScalerOptions::reset,
               "A restart begins with the initial scale and new statistics, but only once: not from "
               "checkpoints that were written with `reset = true`. Without a restart the key has no effect.");
  keys.only_with({"preset", "initial_scale"}, with_loss_scale());
  keys.only_with({"growth_factor", "backoff_factor", "growth_interval", "hysteresis", "hysteresis_refill",
                  "backoff_window", "backoff_overflows", "max_scale"},
                 with_dynamic_scale());
  keys.only_with({"hysteresis_refill"},
                 {"a hysteresis above 1", {"precision.scaler.hysteresis"}, [](const Options& options) {
                    return options.precision.scaler.hysteresis > 1;
                  }});
  keys.only_with({"backoff_overflows"}, with_more_than_0("precision.scaler.backoff_window"));
  keys.only_with({"min_scale"}, with_decreasing_scale());
}

}  // namespace

void add_precision_keys(Schema& schema) {
  Keys keys(
      schema, "precision", "The types in which numbers are stored and computed.",
      [](auto& options) -> auto& { return options.precision; });
  keys.choice("compute", &PrecisionOptions::compute, type_words(),
              "The type of compute weights, activations and their gradients.");
  keys.choice(
      "gradient", &PrecisionOptions::gradient,
      Words<GradientType>{{"auto", GradientType::automatic},
                          {"compute", GradientType::compute},
                          {"fp32", GradientType::fp32}},
      "The type of the gradient buffer. auto: the compute type for one micro-batch per step, fp32 for more.");
  keys.choice(
      "masters", &PrecisionOptions::masters,
      Words<MasterWeights>{{"fp32", MasterWeights::fp32}, {"none", MasterWeights::none}},
      "Copy of the weights that the optimizer updates. fp32: master weights besides the compute weights. "
      "none: no copy; the optimizer updates the 16-bit weights and rounds them stochastically, which saves 4 "
      "bytes per weight. For layers in fp32 both give the same weights.");
  keys.boolean(
      "adapt", &PrecisionOptions::adapt,
      "The run chooses `compute` by trials at its start. Later it changes types and the loss scale's growth "
      "if gradients overflow. `[precision.adaptation]` has the settings, `docs/explanation/numerics.md` an "
      "explanation.");
  Key& rules = keys.add(
      "rules",
      "table from layer name, pattern with '*' or layer kind to " + alternatives({"bf16", "fp16", "fp32"}),
      "a ",
      "Exceptions from `compute`. A name takes precedence over a pattern, a pattern over a kind, and a later "
      "pattern over an earlier one: `rules = { head = \"fp32\", \"norm*\" = \"fp32\" }`.");
  fill_rules(rules);
  keys.finish(rules);
  add_scaler_keys(schema);
  add_adaptation_keys(schema);
}

}  // namespace mylos
