// EvaluationLog: the record of a run's evaluations: a row for each part of the data, the best evaluation so
// far, and whether the run's patience is exhausted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mylos/train/evaluation/best_evaluation.hpp"

namespace mylos {

class EvaluationLog {
 public:
  /// `path`: of evaluations.csv; "" on all ranks but rank 0.
  EvaluationLog(std::string path, BestEvaluation best) : rows_(std::move(path)), best_(std::move(best)) {}

  /// Takes the rows of one evaluation. Returns true if it is the best so far.
  bool update_best(std::span<const EvaluationRow> rows) { return best_.take(rows); }
  /// Writes the rows. Throws Error if they cannot be written; the next call writes them too.
  void write(std::span<const EvaluationRow> rows);
  [[nodiscard]] const BestEvaluation& best() const { return best_; }

  [[nodiscard]] std::string begin_anew() { return rows_.begin_anew(); }

  /// Adds the log to `state`, which then points into this object.
  void save(CheckpointState& state);
  /// Adds the checkpoint's entries to `state`. Checkpoints of earlier builds may have none.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Throws Error (bad_input) if save() cannot have written the state that was read up to this step. Called
  /// before any file is truncated.
  void require_valid(const std::string& source, std::int64_t step) const;
  /// Restores the state that was read, and resumes after `step`. Returns a message about missing rows; "" if
  /// none are missing.
  [[nodiscard]] std::string restore(std::int64_t step);

 private:
  EvaluationHistory rows_;
  std::int64_t count_ = 0;  // number of all rows, including those no longer in the tail
  BestEvaluation best_;
};

}  // namespace mylos
