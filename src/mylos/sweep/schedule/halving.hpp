// The next job of a sweep. Members train to rungs. With several rungs, a member in the best 1/factor of those
// that have reached its rung is promoted to the next (ASHA: Li et al., "A system for massively parallel
// hyperparameter tuning", MLSys 2020, arXiv 1810.05934, algorithm 2). With one rung, all members train to
// their end.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace mylos {

/// What is known of a member.
struct MemberProgress {
  std::vector<std::optional<double>> values = {};  // of the metric, at each rung that it has finished
  bool is_claimed = false;                         // it trains to the next rung
  bool is_interrupted = false;  // an earlier start of the sweep was training it to the next rung
  bool is_over = false;         // it has ended: at the end of its run, or by a failure

  [[nodiscard]] std::size_t finished() const { return values.size(); }
};

struct SweepRules {
  std::size_t rungs = 1;
  int factor = 3;
  bool higher_is_better = false;
};

struct NextJob {
  enum class Kind { train, wait, none };
  Kind kind = Kind::none;
  std::size_t member = 0;
  std::size_t rung = 0;
};

/// Returns the job that a group of ranks takes next. In this order: a job that an earlier start has begun, a
/// promotion from the highest possible rung, a member that has not begun. Members without a value rank last.
/// `wait`: other groups' results may bring jobs. If no job remains and no member has trained to its end, the
/// best member of the highest rung is promoted, so that a sweep has a finished member.
[[nodiscard]] NextJob next_job(const std::vector<MemberProgress>& members, const SweepRules& rules);

}  // namespace mylos
