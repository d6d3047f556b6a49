// BestEvaluation: the best evaluation of a run so far, and the number of evaluations since then.
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
  /// Compares evaluations by `metric`; without a metric there is no best one. `patience`: evaluations
  /// without improvement after which the run ends; 0: it does not end.
  explicit BestEvaluation(std::optional<Metric> metric = {}, std::int64_t patience = 0)
      : metric_(metric), patience_(patience) {}

  /// Takes the rows of one evaluation. Returns true if it is the best so far; among equals the first is the
  /// best. Ignores an evaluation that did not measure the metric.
  bool take(std::span<const EvaluationRow> rows);

  [[nodiscard]] const std::optional<Metric>& metric() const { return metric_; }
  /// Returns the step of the best evaluation; -1: none yet.
  [[nodiscard]] std::int64_t step() const { return best_step_; }
  [[nodiscard]] double value() const { return best_value_; }
  /// Returns the number of evaluations since the best one.
  [[nodiscard]] std::int64_t without_improvement() const { return without_improvement_; }
  [[nodiscard]] bool patience_is_over() const { return patience_ > 0 && without_improvement_ >= patience_; }
  /// Returns "validation.loss 0.3122 at step 200"; "" if there is none.
  [[nodiscard]] std::string text() const;

  /// Adds the state to `state`, which then points into this object.
  void save(CheckpointState& state);
  /// Adds the checkpoint's entries to `state`.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Returns whether the state that was read is possible for a run at step `now`.
  [[nodiscard]] bool is_possible(std::int64_t now) const {
    return best_step_ >= -1 && best_step_ <= now && !std::isnan(best_value_) && without_improvement_ >= 0;
  }
  /// Restores the state that was read. `rows`: the last rows. If the checkpoint used another metric or none,
  /// the best one of these rows becomes the best evaluation.
  void restore(const std::deque<EvaluationRow>& rows);

 private:
  std::optional<Metric> metric_;
  std::int64_t patience_ = 0;
  double best_value_ = 0;
  std::int64_t best_step_ = -1;
  std::int64_t without_improvement_ = 0;
  std::string saved_metric_;  // of the checkpoint; "": it has no metric
};

}  // namespace mylos
