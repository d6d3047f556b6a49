// BestEvaluation: which evaluation of a run was the best so far, and for how many there was none better.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/train/evaluation/metric.hpp"

namespace mylos {

class BestEvaluation {
 public:
  /// No metric: nothing is the best. `patience`: evaluations without improvement that end the run; 0: none
  /// do.
  explicit BestEvaluation(std::optional<Metric> metric = {}, std::int64_t patience = 0)
      : metric_(metric), patience_(patience) {}

  /// The rows of one evaluation. True if it is the best so far: of equals, the first. An evaluation that did
  /// not measure the metric does not count.
  bool take(std::span<const EvaluationRow> rows);

  [[nodiscard]] const std::optional<Metric>& metric() const { return metric_; }
  /// -1: none yet.
  [[nodiscard]] std::int64_t step() const { return best_step_; }
  [[nodiscard]] double value() const { return best_value_; }
  /// Evaluations since the best one.
  [[nodiscard]] std::int64_t without_improvement() const { return without_improvement_; }
  [[nodiscard]] bool patience_is_over() const { return patience_ > 0 && without_improvement_ >= patience_; }
  /// "validation.loss 0.3122 at step 200"; "" where there is none.
  [[nodiscard]] std::string text() const;

  /// `state` points into this object then.
  void save(CheckpointState& state);
  /// Adds room for what the checkpoint has of it.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Whether a run that is at `now` can have come to what was read.
  [[nodiscard]] bool is_possible(std::int64_t now) const {
    return best_step_ >= -1 && best_step_ <= now && !std::isnan(best_value_) && without_improvement_ >= 0;
  }
  /// After that was read, with the last rows: where the run went by another metric before, or by none, the
  /// best of those rows is the best.
  void restore(const std::deque<EvaluationRow>& rows);

 private:
  std::optional<Metric> metric_;
  std::int64_t patience_ = 0;
  double best_value_ = 0;
  std::int64_t best_step_ = -1;
  std::int64_t without_improvement_ = 0;
  std::string saved_metric_;  // of the checkpoint; "": it has none
};

}  // namespace mylos
