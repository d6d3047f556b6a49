#include "mylos/train/evaluation/best_evaluation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace mylos {
namespace {

constexpr const char* group = "/evaluation/best";

}  // namespace

bool BestEvaluation::take(std::span<const EvaluationRow> rows) {
  if (!metric_) return false;
  const std::optional<double> value = value_in(rows, *metric_);
  if (!value) return false;  // not measured: the evaluation does not count
  const bool improves = !std::isnan(*value) && (best_step_ < 0 || is_better(*metric_, *value, best_value_));
  if (!improves) {
    without_improvement_ += 1;
    return false;
  }
  best_value_ = *value;
  best_step_ = static_cast<std::int64_t>(rows.front().step);
  without_improvement_ = 0;
  return true;
}

std::string BestEvaluation::text() const {
  if (!metric_ || best_step_ < 0) return "";
  return fmt::format("{} {:.6g} at step {}", name_of(*metric_), best_value_, best_step_);
}

void BestEvaluation::save(CheckpointState& state) {
  if (!metric_) return;
  state.add_text(fmt::format("{}/metric", group), name_of(*metric_));
  state.add_scalar(std::string(group) + "/value", best_value_);
  state.add_scalar(std::string(group) + "/step", best_step_);
  state.add_scalar(std::string(group) + "/without_improvement", without_improvement_);
}

void BestEvaluation::make_room(const CheckpointReader& saved, CheckpointState& state) {
  if (!saved.exists(group)) return;
  saved_metric_ = saved.text(fmt::format("{}/metric", group));
  const std::optional<Metric> own = metric_;
  metric_.emplace();  // accepts any metric, as the file states which it is
  save(state);
  metric_ = own;
}

void BestEvaluation::restore(const std::deque<EvaluationRow>& rows) {
  if (metric_ && saved_metric_ == name_of(*metric_)) return;
  best_step_ = -1;
  without_improvement_ = 0;
  if (!metric_) return;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto end =
        std::find_if(first, rows.end(), [&](const EvaluationRow& row) { return row.step != first->step; });
    take(std::vector<EvaluationRow>(first, end));
    first = end;
  }
}

}  // namespace mylos
