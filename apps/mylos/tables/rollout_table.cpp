#include "tables/rollout_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mylos::app {
namespace {

std::string cell(double value) {
  return std::isnan(value) ? fmt::format("{:>12}", "-") : fmt::format("{:>12.4g}", value);
}

/// Prints about ten of the steps.
void print_table(const Output& output, const RolloutResult& result, bool has_truth) {
  std::string head = fmt::format("{:>8}{:>12}", "step", "energy");
  if (has_truth)
    head += fmt::format("{:>12}{:>12}{:>12}{:>14}{:>12}", "relative L2", "nRMSE", "correlation",
                        "persistence", "true energy");
  output.line(head);
  constexpr std::int64_t max_lines = 10;
  std::int64_t shown = 0;
  for (std::int64_t line = 1; line <= max_lines; ++line) {
    const std::int64_t step = std::max<std::int64_t>(1, result.steps * line / max_lines);
    if (step == shown) continue;
    shown = step;
    const MemberStep mean = result.mean(step);
    std::string text = fmt::format("{:>8}{}", step, cell(mean.energy));
    if (has_truth) {
      text += cell(mean.network.relative_l2) + cell(mean.network.nrmse) + cell(mean.network.correlation) +
              "  " + cell(mean.persistence.nrmse) + cell(mean.truth_energy);
    }
    output.line(text);
  }
}

/// Returns the mean error of the steps that have a truth, which may end before the rollout.
std::string describe_error(const RolloutResult& result) {
  const std::int64_t compared = result.compared_steps();
  const std::string steps =
      compared == result.steps ? "the steps" : fmt::format("the {} steps that have a truth", compared);
  return fmt::format("nRMSE, mean over {}: {:.6g}", steps, result.mean_nrmse());
}

/// Returns "warning: 3 of 8 members become inf or NaN, the first (sample 2 from level 0) at step 57"; "" if
/// all members are finite.
std::string describe_not_finite(const RolloutResult& result, const std::vector<std::string>& members) {
  std::int64_t count = 0;
  std::int64_t earliest = 0;
  std::string name;
  for (std::int64_t member = 0; member < result.members; ++member) {
    const std::int64_t step = result.first_not_finite(member);
    if (step == 0) continue;
    ++count;
    if (earliest != 0 && step >= earliest) continue;
    earliest = step;
    name = members[static_cast<std::size_t>(member)];
  }
  if (count == 0) return "";
  return fmt::format("warning: {} of {} members become inf or NaN, the first ({}) at step {}", count,
                     result.members, name, earliest);
}

}  // namespace

void print_rollout(const Output& output, const RolloutResult& result, const std::vector<std::string>& members,
                   bool has_truth) {
  print_table(output, result, has_truth);
  if (has_truth) output.line(describe_error(result));
  if (const std::string text = describe_not_finite(result, members); !text.empty()) output.line(text);
}

}  // namespace mylos::app
