#include "tables/advise_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/base/device/timing.hpp"
#include "mylos/base/errors/units.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_parameters = 5;  // that are named of each type

std::string bytes(std::size_t count) {
  return format_bytes(static_cast<std::int64_t>(count));
}

/// Uses the setting with the least recomputation, because losses do not depend on recomputation.
bool stands_for_its_type(const TrialResult& result) {
  return result.setting.recompute == RecomputeMode::automatic;
}

/// Null if float does not fit.
const TrialResult* base_of(const AdviceReport& report) {
  const std::size_t base = float_base(report.results);
  return base < report.results.size() ? &report.results[base] : nullptr;
}

std::string head(const AdviceReport& report) {
  return fmt::format(
      "{}: {} parameters, {} rank{}, batch {}; computed by {}\ntimes of a step on the slowest rank, "
      "interleaved "
      "in {} "
      "rounds; losses after {} steps from the same weights\n",
      report.run, report.parameters, report.ranks, report.ranks == 1 ? "" : "s", report.batch,
      report.computed_by, report.rounds, report.steps);
}

std::string gap_text(const TrialResult* base, const TrialResult& result) {
  if (base == nullptr || result.setting.compute == DType::fp32) return "-";
  const double gap = loss_gap(*base, result);
  return std::isfinite(gap) ? percent(gap, true) : "no number";
}

std::string micro_batch_text(std::int64_t largest) {
  return largest >= micro_batch_limit ? fmt::format(">= {}", largest) : fmt::format("{}", largest);
}

std::string table(const AdviceReport& report) {
  const bool has_tokens = report.tokens_of_sample > 0;
  const double per_sample = has_tokens ? static_cast<double>(report.tokens_of_sample) : 1;
  std::string text = fmt::format("  {:<6}{:<14}{:>11}{:>10}{:>12}", "type", "recompute", "step ms", "spread",
                                 has_tokens ? "tokens/s" : "samples/s");
  const bool counts = !report.energy_of.empty();
  if (counts) text += fmt::format("{:>12}", "joules");
  text += fmt::format("{:>13}{:>13}{:>13}{:>12}{:>9}\n", "of a rank", "activations", "micro-batch",
                      "loss gap", "skipped");
  const TrialResult* base = base_of(report);
  std::string notes;
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const TrialResult& result = report.results[i];
    const std::string start =
        fmt::format("  {:<6}{:<14}", name_of(result.setting.compute), recompute_name(result.setting));
    if (!result.obstacle.empty()) {
      text += start + fmt::format("{:>11}\n", "-");
      notes += fmt::format("{}{}\n", start, result.obstacle);
      continue;
    }
    if (result.setting.recompute != RecomputeMode::all)
      notes += fmt::format("{}{}, in micro-batches of {}\n", start, result.plan, result.micro_batch);
    const double step_s = step_seconds(result);
    text += fmt::format("{}{:>11.4g}{:>10}{:>12.4g}", start, 1000 * step_s, "±" + percent(spread_of(result)),
                        per_sample * static_cast<double>(report.batch) / step_s);
    if (counts) text += fmt::format("{:>12.4g}", step_joules(result));
    text += fmt::format("{:>13}{:>13}{:>13}{:>12}{:>9}\n", bytes(result.rank_bytes),
                        bytes(result.activation_bytes), micro_batch_text(report.largest[i]),
                        gap_text(base, result), result.skipped);
  }
  if (counts)
    text += fmt::format("  joules of a step: of each node {}, whatever else they do\n", report.energy_of);
  return text + "  micro-batch: the largest that fits the budget, one for each rank in a step\n" + notes;
}

/// The fractions of a type minus those of float; the fractions themselves if float does not fit.
std::vector<LostGradient> losses_of(const AdviceReport& report, const TrialResult& result) {
  const TrialResult* base = base_of(report);
  if (base != nullptr) return lost_gradients(*base, result);
  TrialResult nothing{.setting = {}, .gradients = std::vector<GradientLoss>(result.gradients.size())};
  return lost_gradients(nothing, result);
}

std::string gradient_rows(const AdviceReport& report, const TrialResult& result) {
  const std::vector<LostGradient> lost = losses_of(report, result);
  const auto loses = [](const LostGradient& one) {
    return one.zeros > 0 || one.subnormals > 0 || one.non_finite > 0;
  };
  const auto count = static_cast<std::size_t>(std::count_if(lost.begin(), lost.end(), loses));
  const std::string_view name = name_of(result.setting.compute);
  std::string text;
  for (std::size_t i = 0; i < std::min(count, max_parameters); ++i) {
    text += fmt::format("  {:<6}{:<32}{:>12}{:>12}{:>12}\n", name, lost[i].parameter, percent(lost[i].zeros),
                        percent(lost[i].subnormals), lost[i].non_finite);
  }
  if (count == 0) return fmt::format("  {:<6}none of {} parameters loses anything\n", name, lost.size());
  if (count > max_parameters)
    text += fmt::format("  {:<6}{} more lose less, {} nothing\n", name, count - max_parameters,
                        lost.size() - count);
  return text;
}

std::string gradients(const AdviceReport& report) {
  std::string rows;
  for (const TrialResult& result : report.results) {
    const bool is_16_bit = result.setting.compute != DType::fp32;
    if (is_16_bit && stands_for_its_type(result) && result.obstacle.empty())
      rows += gradient_rows(report, result);
  }
  if (rows.empty()) return "";
  return fmt::format("\ngradients of step {}, {}\n  {:<6}{:<32}{:>12}{:>12}{:>12}\n{}", report.steps,
                     base_of(report) != nullptr ? "what 16 bits add to float's own" : "in 16 bits", "type",
                     "parameter", "zero", "subnormal", "not finite", rows);
}

std::string verdict(const AdviceReport& report) {
  std::string text = fmt::format("\nverdict: {}\n", report.advice.verdict);
  for (const std::string& reason : report.advice.reasons) text += fmt::format("  {}\n", reason);
  return text;
}

}  // namespace

std::string recompute_name(const TrialSetting& setting) {
  switch (setting.recompute.value_or(RecomputeMode::automatic)) {
    case RecomputeMode::automatic:
      return "auto";
    case RecomputeMode::none:
      return "none";
    case RecomputeMode::all:
      return "all";
    case RecomputeMode::every:
    case RecomputeMode::groups:
      break;
  }
  return "as the deck";
}

double step_joules(const TrialResult& result) {
  return result.step_j.empty() ? std::numeric_limits<double>::quiet_NaN() : median(result.step_j);
}

std::string advice_text(const AdviceReport& report) {
  return head(report) + '\n' + table(report) + gradients(report) + verdict(report) +
         (report.deck.empty() ? "" : fmt::format("\nthe deck that says so: {}", report.deck));
}

}  // namespace mylos::app
