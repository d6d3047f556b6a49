#include "mylos/train/adapt/type_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "mylos/base/device/timing.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"

namespace mylos {
namespace {

constexpr double max_late_skips = 0.5;

bool ran(const TrialResult& result) {
  return result.obstacle.empty();
}

/// Returns the index of the fastest result for which `may` is true; results.size() if there is none.
template <class May>
std::size_t fastest(const std::vector<TrialResult>& results, const May& may) {
  std::size_t best = results.size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!ran(results[i]) || !may(results[i])) continue;
    if (best == results.size() || step_seconds(results[i]) < step_seconds(results[best])) best = i;
  }
  return best;
}

/// Returns whether the losses are finite and the loss scale has settled.
bool learns(const TrialResult& result) {
  return ran(result) && std::isfinite(late_loss(result)) && result.late_skips <= max_late_skips;
}

}  // namespace

double step_seconds(const TrialResult& result) {
  return median(result.step_s);
}

double late_loss(const TrialResult& result) {
  const auto half = result.losses.begin() + static_cast<std::ptrdiff_t>(result.losses.size() / 2);
  return std::accumulate(half, result.losses.end(), 0.0) / static_cast<double>(result.losses.end() - half);
}

double loss_gap(const TrialResult& base, const TrialResult& result) {
  const double reference = late_loss(base);
  const double gap = (late_loss(result) - reference) / std::fabs(reference);
  return std::isfinite(gap) ? gap : std::numeric_limits<double>::infinity();
}

std::size_t float_base(const std::vector<TrialResult>& results) {
  return fastest(results, [](const TrialResult& result) { return result.setting.compute == DType::fp32; });
}

std::string describe_gain(const std::string& name, double gain, bool would) {
  if (gain < 0) {
    return fmt::format("a step {} {:.3g} % more time in {} than in float", would ? "would take" : "takes",
                       -100 * gain, name);
  }
  return fmt::format("{} {} {:.3g} % of float's time", name, would ? "would save" : "saves", 100 * gain);
}

TypeChoice choose_type(const std::vector<TrialResult>& results, const TypeChoiceRule& rule) {
  const std::size_t base = float_base(results);
  if (base == results.size()) {
    const std::size_t any = fastest(results, learns);
    if (any == results.size()) {
      const TrialResult& first = results.at(0);
      throw Error(
          ran(first) ? ExitCode::diverged : first.code,
          ran(first) ? errors::diverged : first.cause.value_or(errors::internal),
          ran(first) ? fmt::format("{}: its steps are not finite", describe(first.setting)) : first.obstacle);
    }
    const bool was_tried = std::any_of(results.begin(), results.end(), [](const TrialResult& result) {
      return result.setting.compute == DType::fp32;
    });
    return {any, fmt::format("{} is the fastest that runs; float {}", describe(results[any].setting),
                             was_tried ? "does not" : "was not tried")};
  }
  const TrialResult& reference = results[base];
  const auto is_close = [&](const TrialResult& result) {
    return result.setting.compute != DType::fp32 && learns(result) &&
           loss_gap(reference, result) <= rule.loss_gap;
  };
  const std::size_t best = fastest(results, is_close);
  if (best == results.size()) {
    return {base,
            fmt::format("no 16-bit type stays within {:.3g} % of float's loss with steps that are applied",
                        100 * rule.loss_gap)};
  }
  const std::string name = describe(results[best].setting);
  const double gain = 1 - step_seconds(results[best]) / step_seconds(reference);
  const std::string effect = describe_gain(name, gain, gain < rule.least_gain);
  if (gain >= rule.least_gain) return {best, effect};
  if (gain < 0) return {base, effect};
  return {base,
          fmt::format("{}, less than the {:.3g} % that make it worth while", effect, 100 * rule.least_gain)};
}

std::string describe(const std::vector<TrialResult>& results) {
  const std::size_t base = float_base(results);
  std::vector<std::string> times;
  std::vector<std::string> losses;
  std::string others;
  for (const TrialResult& result : results) {
    if (!ran(result)) {
      others += fmt::format("; {} does not run", describe(result.setting));
      continue;
    }
    times.push_back(fmt::format("{} {:.4g} ms", describe(result.setting), 1000 * step_seconds(result)));
    std::string& loss = losses.emplace_back(fmt::format("{:.5g}", late_loss(result)));
    if (base != results.size() && &result != &results[base])
      loss += fmt::format(" ({:+.2g} %)", 100 * loss_gap(results[base], result));
  }
  return fmt::format("{} a step, losses {}{}", fmt::join(times, ", "), fmt::join(losses, ", "), others);
}

std::vector<LostGradient> lost_gradients(const TrialResult& base, const TrialResult& result) {
  std::vector<LostGradient> lost;
  for (std::size_t i = 0; i < result.gradients.size(); ++i) {
    const GradientLoss& own = result.gradients[i];
    const GradientLoss& in_float = base.gradients.at(i);
    lost.push_back({own.parameter, std::max(0.0, own.zeros - in_float.zeros),
                    std::max(0.0, own.subnormals - in_float.subnormals), own.non_finite});
  }
  std::stable_sort(lost.begin(), lost.end(), [](const LostGradient& a, const LostGradient& b) {
    return std::tie(a.non_finite, a.zeros, a.subnormals) > std::tie(b.non_finite, b.zeros, b.subnormals);
  });
  return lost;
}

std::string describe_lost_gradients(const std::vector<TrialResult>& results) {
  const std::size_t base = float_base(results);
  std::string text;
  for (const TrialResult& result : results) {
    if (base == results.size() || !ran(result) || result.setting.compute == DType::fp32) continue;
    const std::vector<LostGradient> lost = lost_gradients(results[base], result);
    if (lost.empty()) continue;
    const LostGradient& worst = lost.front();
    std::string what;
    if (worst.non_finite > 0) {
      what = fmt::format("{} values are not finite", worst.non_finite);
    } else if (worst.zeros > 0) {
      what = fmt::format("{:.3g} % fall to zero", 100 * worst.zeros);
    } else {
      continue;
    }
    text += fmt::format("; of gradients {} loses most in {}: {}", describe(result.setting), worst.parameter,
                        what);
  }
  return text;
}

}  // namespace mylos
