// EvaluationLog: what a run keeps of its evaluations: a row for each part of the data, the best so far, and
// whether the run's patience is over.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mylos/train/evaluation/best_evaluation.hpp"

namespace mylos {

class EvaluationLog {
 public:
  /// `path`: of evaluations.csv; "" on ranks but the first.
  EvaluationLog(std::string path, BestEvaluation best) : rows_(std::move(path)), best_(std::move(best)) {}

  /// The rows of one evaluation. True if it is the best so far.
  bool judge(std::span<const EvaluationRow> rows) { return best_.take(rows); }
  /// Throws Error where the disk refuses the rows; they are written with the next ones.
  void write(std::span<const EvaluationRow> rows);
  [[nodiscard]] const BestEvaluation& best() const { return best_; }

  [[nodiscard]] std::string begin_anew() { return rows_.begin_anew(); }

  /// Adds it to what a checkpoint is to hold; `state` points into this object then.
  void save(CheckpointState& state);
  /// Adds room for what the checkpoint has of it: nothing, where its build kept no evaluations.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Before files are cut. Throws Error (bad_input) for what save() cannot have written up to this step.
  void require_valid(const std::string& source, std::int64_t step) const;
  /// After that was read: goes on behind `step`. Returns what there is to say of rows that are missing; "":
  /// nothing.
  [[nodiscard]] std::string restore(std::int64_t step);

 private:
  EvaluationHistory rows_;
  std::int64_t count_ = 0;  // of all rows, those too that the tail has no more
  BestEvaluation best_;
};

}  // namespace mylos
