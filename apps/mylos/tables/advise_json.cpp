#include <cmath>
#include <nlohmann/json.hpp>

#include "tables/advise_report.hpp"

namespace mylos::app {
namespace {

using nlohmann::ordered_json;  // members stay in the order in which they are read best

ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

ordered_json json_of(const GradientLoss& gradient) {
  return {{"parameter", gradient.parameter},
          {"zeros", gradient.zeros},
          {"subnormals", gradient.subnormals},
          {"non_finite", gradient.non_finite}};
}

ordered_json setting_of(const TrialResult& result) {
  return {{"compute", name_of(result.setting.compute)}, {"recompute", recompute_name(result.setting)}};
}

ordered_json json_of(const TrialResult& result, const TrialResult* base, std::int64_t largest,
                     const AdviceReport& report) {
  ordered_json trial = setting_of(result);
  if (!result.obstacle.empty()) {
    trial["obstacle"] = result.obstacle;
    return trial;
  }
  const double step_s = step_seconds(result);
  const double samples_per_s = static_cast<double>(report.batch) / step_s;
  ordered_json losses = ordered_json::array();
  for (const double loss : result.losses) losses.push_back(number(loss));
  ordered_json gradients = ordered_json::array();
  for (const GradientLoss& gradient : result.gradients) gradients.push_back(json_of(gradient));
  trial.update({{"plan", result.plan},
                {"step_s", result.step_s},
                {"median_step_s", step_s},
                {"samples_per_s", samples_per_s},
                {"tokens_per_s", samples_per_s * static_cast<double>(report.tokens_of_sample)},
                {"step_joules", number(step_joules(result))},
                {"rank_bytes", result.rank_bytes},
                {"activation_bytes", result.activation_bytes},
                {"micro_batch", result.micro_batch},
                {"largest_micro_batch", largest},
                {"loss_gap", base == nullptr ? ordered_json() : number(loss_gap(*base, result))},
                {"skipped", result.skipped},
                {"losses", std::move(losses)},
                {"gradients", std::move(gradients)}});
  return trial;
}

}  // namespace

std::string advice_json(const AdviceReport& report) {
  const std::size_t base = float_base(report.results);
  ordered_json trials = ordered_json::array();
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    trials.push_back(json_of(report.results[i],
                             base < report.results.size() ? &report.results[base] : nullptr,
                             report.largest[i], report));
  }
  ordered_json advice = setting_of(report.results.at(report.advice.chosen));
  advice.update({{"verdict", report.advice.verdict}, {"reasons", report.advice.reasons}});
  const ordered_json document = {{"format", "mylos-advice"},
                                 {"version", 1},
                                 {"run", report.run},
                                 {"parameters", report.parameters},
                                 {"ranks", report.ranks},
                                 {"batch", report.batch},
                                 {"steps", report.steps},
                                 {"rounds", report.rounds},
                                 {"computed_by", report.computed_by},
                                 {"energy_of", report.energy_of},
                                 {"least_gain", report.rule.least_gain},
                                 {"loss_gap", report.rule.loss_gap},
                                 {"trials", std::move(trials)},
                                 {"advice", std::move(advice)},
                                 {"deck", report.deck}};
  // A name on the command line may not be UTF-8.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace mylos::app
