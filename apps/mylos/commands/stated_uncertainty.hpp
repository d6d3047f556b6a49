// What predictions state of their own errors, compared with these errors, and the errors of each variable:
// what `mylos eval` measures of numbers in the units of the targets.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "commands.hpp"
#include "mylos/inference/scores/target_errors.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"
#include "mylos/inference/uncertainty/uncertainty_measures.hpp"
#include "mylos/train/history/progress.hpp"

namespace mylos::app {

class StatedUncertainty {
 public:
  /// Of predictions of a regression `shape`, whose data are those of `network`, which must outlive the
  /// object. `calibration`: of the network, or of the mean of several, if there is one. `targets`: how
  /// training scaled those of the shape.
  StatedUncertainty(const TargetShape& shape, const StoredNetwork& network,
                    const std::optional<ConformalCalibration>& calibration, const ColumnScaling& targets);

  /// Measures the errors of each variable too.
  void measure_errors() { errors_.emplace(shape_.channels); }
  /// Returns whether there is anything to measure.
  [[nodiscard]] bool any() const { return measures_ || errors_; }
  [[nodiscard]] const TargetShape& shape() const { return shape_; }
  /// Adds samples, in the units of training. `deviations` and `quantiles` [levels, samples, outputs]: empty
  /// where there are none.
  void add(std::span<const float> means, std::span<const float> deviations, std::span<const float> targets,
           std::span<const float> quantiles = {});
  /// All ranks. Returns the result over all of their samples, of each of which `boxes` ranks have a part.
  [[nodiscard]] UncertaintyResult result(RankGroup& ranks, std::int64_t boxes = 1);
  /// Returns the errors of each variable after result(); empty if they are not measured.
  [[nodiscard]] std::vector<TargetError> errors() const;

 private:
  TargetShape shape_;
  ColumnScaling targets_;
  std::optional<UncertaintyMeasures> measures_;
  std::optional<TargetErrors> errors_;
};

/// On every rank: prints the result on rank 0, and leaves that of standard deviations as uncertainty.json in
/// the run's folder, if the command line names a folder. An evaluation does not fail because of the file.
void report_uncertainty(const UncertaintyResult& result, const StoredNetwork& network,
                        const EvaluateArguments& arguments, int rank);

}  // namespace mylos::app
