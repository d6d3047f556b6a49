#include "mylos/precision/scaler_statistics.hpp"

#include <fmt/format.h>

namespace mylos {
namespace {

double quotient(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

ScalerStatistics statistics_of(const ScalerState& state) {
  return {.scale = static_cast<double>(state.scale),
          .steps = state.steps,
          .overflows = state.overflows,
          .overflow_rate = quotient(static_cast<double>(state.overflows), state.steps),
          .recent_steps = state.recent.steps(),
          .recent_overflows = state.recent.overflows,
          .recent_overflow_rate = state.recent.rate(),
          .increases = state.increases,
          .decreases = state.decreases,
          .tolerated = state.tolerated,
          .applied = state.applied,
          .mean_gradient_norm = quotient(state.norm_sum, state.applied)};
}

std::string describe_overflows(const ScalerStatistics& statistics) {
  return fmt::format("{} of {} ({:.3g} %), {} of the last {} ({:.3g} %)", statistics.overflows,
                     counted(statistics.steps, "step"), 100 * statistics.overflow_rate,
                     statistics.recent_overflows, statistics.recent_steps,
                     100 * statistics.recent_overflow_rate);
}

std::string describe_scale(const ScalerStatistics& statistics) {
  std::string text = fmt::format("{:g}", statistics.scale);
  if (statistics.increases + statistics.decreases > 0) {
    text += fmt::format(", raised {}, lowered {}", counted(statistics.increases, "time"),
                        counted(statistics.decreases, "time"));
  }
  if (statistics.tolerated > 0)
    text += fmt::format(", {} tolerated", counted(statistics.tolerated, "overflow"));
  return text;
}

}  // namespace mylos
