#include "commands/stated_uncertainty.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "launch/standard_output.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/train/evaluation/uncertainty_file.hpp"
#include "tables/uncertainty_report.hpp"

namespace mylos::app {

StatedUncertainty::StatedUncertainty(const TargetShape& shape, const StoredNetwork& network,
                                     const std::optional<ConformalCalibration>& calibration,
                                     const ColumnScaling& targets)
    : shape_(shape), targets_(targets) {
  const std::span<const double> levels = network.chain.quantiles();
  if (shape.has_deviations || calibration || !levels.empty())
    measures_.emplace(shape.has_deviations, calibration, levels);
}

void StatedUncertainty::add(std::span<const float> means, std::span<const float> deviations,
                            std::span<const float> targets, std::span<const float> quantiles) {
  if (!any()) return;
  const EvaluatedRows rows = make_evaluated_rows(shape_, targets_, means, deviations, targets, quantiles);
  if (measures_) measures_->add(rows);
  if (errors_) errors_->add(rows);
}

UncertaintyResult StatedUncertainty::result(RankGroup& ranks, std::int64_t boxes) {
  if (errors_) errors_->add_up(ranks);
  if (!measures_) return {};
  measures_->add_up(ranks);
  UncertaintyResult result = measures_->result();
  result.samples /= boxes;
  return result;
}

std::vector<TargetError> StatedUncertainty::errors() const {
  return errors_ ? errors_->result() : std::vector<TargetError>();
}

void report_uncertainty(const UncertaintyResult& result, const StoredNetwork& network,
                        const EvaluateArguments& arguments, int rank) {
  const Output output = standard_output(rank);
  for (const std::string& line : uncertainty_lines(result, network.samples.target_names)) output.line(line);
  std::error_code failure;
  const std::string& run = arguments.checkpoint.path;
  if (rank != 0 || !result.deviations || !std::filesystem::is_directory(run, failure)) return;
  try {
    write_uncertainty_file(run_folder(run) + "/uncertainty.json", network.step,
                           arguments.data.empty() ? arguments.split : arguments.data, result);
  } catch (const Error& error) {
    print_error(fmt::format("mylos: {}; the report of the run will lack it", error.message()));
  }
}

}  // namespace mylos::app
