#include "mylos/train/adapt/type_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/train/plan/memory_fit.hpp"

namespace mylos {
namespace {

bool has_run(const TrialResult& result) {
  return result.obstacle.empty();
}

/// Returns the indices of the results that recompute least, in ascending order.
std::vector<std::size_t> automatic_recompute_indices(const std::vector<TrialResult>& results) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].setting.recompute == RecomputeMode::automatic) indices.push_back(i);
  }
  return indices;
}

const TrialResult* result_of(const std::vector<TrialResult>& results, const TrialSetting& setting) {
  const auto found = std::find_if(results.begin(), results.end(), [&](const TrialResult& result) {
    return result.setting == setting && has_run(result);
  });
  return found == results.end() ? nullptr : &*found;
}

std::string in_milliseconds(double seconds) {
  return fmt::format("{:.4g} ms", 1000 * seconds);
}

/// Compares `value` with `other`: "34 % less", "3.1 % more".
std::string against(double value, double other) {
  const double difference = value / other - 1;
  return fmt::format("{} {}", percent(std::abs(difference)), difference > 0 ? "more" : "less");
}

std::string bytes_against(const TrialResult& result, const TrialResult& other) {
  return fmt::format(
      "a rank takes {} memory, its activations {}",
      against(static_cast<double>(result.rank_bytes), static_cast<double>(other.rank_bytes)),
      against(static_cast<double>(result.activation_bytes), static_cast<double>(other.activation_bytes)));
}

std::string loss_sentence(const TrialResult& base, const TrialResult& result, std::int64_t steps) {
  const double gap = loss_gap(base, result);
  if (!std::isfinite(gap)) return fmt::format("the losses of {} steps are not all numbers", steps);
  return fmt::format("the loss of {} steps is {} from float's", steps, percent(gap, true));
}

/// Returns why a 16-bit type was not chosen.
std::string reason_against(const TrialResult& result, const TrialResult& chosen, const TrialResult* base,
                           const TypeChoiceRule& rule, std::int64_t steps) {
  const std::string_view name = name_of(result.setting.compute);
  if (!has_run(result)) return fmt::format("{}: {}", name, result.obstacle);
  if (base != nullptr && loss_gap(*base, result) > rule.loss_gap) {
    return fmt::format("{}: {}, and {:.3g} % are accepted", name, loss_sentence(*base, result, steps),
                       100 * rule.loss_gap);
  }
  return fmt::format("{}: a step takes {}, {} than {}'s", name, in_milliseconds(step_seconds(result)),
                     against(step_seconds(result), step_seconds(chosen)), name_of(chosen.setting.compute));
}

std::string recomputation_sentence(const TrialResult& chosen, const TrialResult& all) {
  return fmt::format("memory.recompute = \"all\" in {}: a step takes {} time, {}",
                     name_of(chosen.setting.compute), against(step_seconds(all), step_seconds(chosen)),
                     bytes_against(all, chosen));
}

/// Returns a warning if the rounds differ by more than the margin of the decision between float and 16 bits;
/// "" if they are steady.
std::string doubt(const TrialResult& base, const TrialResult& other, const TypeChoiceRule& rule) {
  const double gain = 1 - step_seconds(other) / step_seconds(base);
  const double widest = std::max(spread_of(base), spread_of(other));
  if (widest < std::abs(gain - rule.least_gain)) return "";
  return fmt::format(
      "{}, and rounds differ by ±{}: something else works on this machine, or the steps are short; more "
      "--rounds say more",
      describe_gain(std::string(name_of(other.setting.compute)), gain, false), percent(widest));
}

const TrialResult* fastest_16_bit(const std::vector<TrialResult>& types) {
  const TrialResult* best = nullptr;
  for (const TrialResult& type : types) {
    if (!has_run(type) || type.setting.compute == DType::fp32) continue;
    if (best == nullptr || step_seconds(type) < step_seconds(*best)) best = &type;
  }
  return best;
}

std::string verdict_of(const TrialResult& chosen, const TrialResult* base, const std::string& reason) {
  const std::string_view name = name_of(chosen.setting.compute);
  const char* verb = base == &chosen ? "stay in" : "take";
  return fmt::format("{} {} ({}): {}", verb, name, chosen.plan, reason);
}

}  // namespace

std::vector<TrialSetting> settings_to_try(const Options& deck) {
  std::vector<TrialSetting> settings;
  const RecomputeMode own = deck.memory.recompute;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    settings.push_back({type, RecomputeMode::automatic});
    if (own != RecomputeMode::automatic && own != RecomputeMode::all) settings.push_back({type, own});
    settings.push_back({type, RecomputeMode::all});
  }
  return settings;
}

std::string percent(double share, bool plus) {
  const double value = 100 * share;
  const bool is_large = std::abs(value) >= 99.5;  // two digits would print an exponent
  if (plus) return is_large ? fmt::format("{:+.0f} %", value) : fmt::format("{:+.2g} %", value);
  return is_large ? fmt::format("{:.0f} %", value) : fmt::format("{:.2g} %", value);
}

double spread_of(const TrialResult& result) {
  const auto [least, most] = std::minmax_element(result.step_s.begin(), result.step_s.end());
  return 0.5 * (*most - *least) / step_seconds(result);
}

TypeAdvice advise(const std::vector<TrialResult>& results, const TypeChoiceRule& rule, std::int64_t steps) {
  const std::vector<std::size_t> indices = automatic_recompute_indices(results);
  std::vector<TrialResult> types;
  for (const std::size_t index : indices) types.push_back(results[index]);
  const TypeChoice choice = choose_type(types, rule);
  const std::size_t base_index = float_base(types);
  const TrialResult& chosen = types[choice.chosen];
  const TrialResult* base = base_index < types.size() ? &types[base_index] : nullptr;

  TypeAdvice advice{
      .chosen = indices[choice.chosen], .verdict = verdict_of(chosen, base, choice.reason), .reasons = {}};
  if (base != nullptr && base != &chosen) {
    advice.reasons.push_back(fmt::format("{}: a step takes {}, in {} {}; {}; {}",
                                         name_of(chosen.setting.compute),
                                         in_milliseconds(step_seconds(chosen)),
                                         name_of(base->setting.compute), in_milliseconds(step_seconds(*base)),
                                         bytes_against(chosen, *base), loss_sentence(*base, chosen, steps)));
  }
  for (const TrialResult& other : types) {
    if (&other != &chosen && &other != base)
      advice.reasons.push_back(reason_against(other, chosen, base, rule, steps));
  }
  if (const TrialResult* all = result_of(results, {chosen.setting.compute, RecomputeMode::all}))
    advice.reasons.push_back(recomputation_sentence(chosen, *all));
  const TrialResult* rival = base == &chosen ? fastest_16_bit(types) : &chosen;
  if (base != nullptr && rival != nullptr) {
    if (const std::string unsteady = doubt(*base, *rival, rule); !unsteady.empty())
      advice.reasons.push_back(unsteady);
  }
  return advice;
}

Options advised_options(const Options& deck, const std::vector<TrialResult>& results, std::size_t chosen,
                        const TypeChoiceRule& rule) {
  const TrialResult& taken = results.at(chosen);
  Options options = options_of(deck, {taken.setting.compute});
  // The type is chosen now; later checks of precision.adapt stay enabled.
  if (options.precision.adapt) options.precision.adaptation.types = {taken.setting.compute};
  options.run.folder += "-advised";
  RecomputeMode& recompute = options.memory.recompute;
  const TrialResult* own = result_of(results, {taken.setting.compute, recompute});
  const bool is_as_fast = own != nullptr && step_seconds(taken) > (1 - rule.least_gain) * step_seconds(*own);
  if (!is_as_fast) recompute = RecomputeMode::automatic;
  return options;
}

std::int64_t max_micro_batch(const MemoryProblem& problem, std::int64_t most) {
  Options options = problem.options();
  const auto fits = [&](std::int64_t samples) {
    options.data.micro_batch = samples;
    options.data.batch = samples * problem.network.mesh().batch_ranks();
    return would_fit(problem, options);
  };
  std::int64_t fitting = 0;
  std::int64_t too_large = most + 1;
  while (too_large - fitting > 1) {
    const std::int64_t middle = fitting + (too_large - fitting) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

}  // namespace mylos
