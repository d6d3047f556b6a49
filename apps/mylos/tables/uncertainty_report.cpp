#include "tables/uncertainty_report.hpp"

#include <fmt/format.h>

#include "mylos/base/errors/text.hpp"

namespace mylos::app {
namespace {

void add_deviations(std::vector<std::string>& lines, const UncertaintyResult::Deviations& found) {
  std::string coverage = "coverage of predicted standard deviations:";
  for (std::size_t i = 0; i < found.chosen.size(); ++i) {
    const auto& [nominal, observed] = found.chosen[i];
    coverage += fmt::format("{} {:.4f} at {}", i == 0 ? "" : ",", observed, nominal);
  }
  lines.push_back(coverage);
  lines.push_back(fmt::format("calibration error {:.6g} (root mean square {:.6g}, area {:.6g})",
                              found.calibration_error, found.rms_calibration_error,
                              found.miscalibration_area));
  lines.push_back(fmt::format("sharpness {:.6g}, CRPS {:.6g}", found.sharpness, found.crps));
}

void add_quantiles(std::vector<std::string>& lines, const UncertaintyResult::Quantiles& found) {
  std::string below = "targets at or below predicted quantiles:";
  for (std::size_t i = 0; i < found.levels.size(); ++i)
    below +=
        fmt::format("{} {:.4f} at {}", i == 0 ? "" : ",", found.levels[i].observed, found.levels[i].nominal);
  lines.push_back(below);
  if (found.crossed > 0)
    lines.push_back(fmt::format("quantiles that do not ascend: of {:.4f} of the targets", found.crossed));
}

void add_intervals(std::vector<std::string>& lines, const UncertaintyResult::Intervals& found,
                   const std::vector<std::string>& names) {
  constexpr std::size_t max_listed = 20;
  lines.push_back(fmt::format("coverage of calibrated intervals: {:.4f} at {}, mean width {:.6g}",
                              found.coverage.observed, found.coverage.nominal, found.mean_width));
  const std::size_t count = found.of_channels.size();
  if (count == 1 || count > max_listed) return;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = names.size() == count ? printable(names[i]) : fmt::format("target {}", i);
    lines.push_back(fmt::format("coverage of {}: {:.4f}", name, found.of_channels[i]));
  }
}

}  // namespace

std::vector<std::string> uncertainty_lines(const UncertaintyResult& result,
                                           const std::vector<std::string>& names) {
  std::vector<std::string> lines;
  if (result.not_finite > 0) {
    lines.push_back(
        fmt::format("uncertainties are not measured: {} predictions are inf or NaN", result.not_finite));
  }
  if (result.deviations) add_deviations(lines, *result.deviations);
  if (result.quantiles) add_quantiles(lines, *result.quantiles);
  if (result.intervals) add_intervals(lines, *result.intervals, names);
  return lines;
}

}  // namespace mylos::app
