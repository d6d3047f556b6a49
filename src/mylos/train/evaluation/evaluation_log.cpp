#include "mylos/train/evaluation/evaluation_log.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"

namespace mylos {

void EvaluationLog::write(std::span<const EvaluationRow> rows) {
  count_ += static_cast<std::int64_t>(rows.size());
  rows_.append(rows);
}

void EvaluationLog::save(CheckpointState& state) {
  state.add_scalar("/evaluation/rows", count_);
  if (!rows_.tail().empty()) rows_.save(state);
  best_.save(state);
}

void EvaluationLog::make_room(const CheckpointReader& saved, CheckpointState& state) {
  if (saved.exists("/evaluation")) state.add_scalar("/evaluation/rows", count_);
  if (saved.exists("/history/evaluations")) rows_.make_room(saved, state);
  best_.make_room(saved, state);
}

void EvaluationLog::require_valid(const std::string& source, std::int64_t step) const {
  if (count_ < 0 || !best_.is_possible(step))
    fail_input(errors::damaged, "{}: /evaluation cannot be of a run at step {}: {} rows, the best at step {}",
               source, step, count_, best_.step());
}

std::string EvaluationLog::restore(std::int64_t step) {
  std::string said = rows_.restore(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(count_));
  best_.restore(rows_.tail());
  return said;
}

}  // namespace mylos
