// VariableScores: what is measured of one variable (a channel of the predicted fields) after one step, and
// its means over the starts of rollouts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/scores/channel_errors.hpp"
#include "mylos/inference/scores/ensemble_scores.hpp"

namespace mylos {

/// Of the calibrated interval around a variable's field.
struct IntervalScores {
  double holds = ChannelErrors::unknown;  // 1 if all points that count lie in it, else 0
  double width = ChannelErrors::unknown;
};

/// Numbers that are not known are NaN.
struct VariableScores {
  double starts = 1;               // over which the numbers are means; 0: the truth has no value of it
  ChannelErrors network = {};      // of an ensemble: its mean's
  ChannelErrors persistence = {};  // of the level that the rollout begins with
  ChannelErrors climatology = {};
  EnsembleScores ensemble = {};
  IntervalScores interval = {};
};

/// Means over starts, after each step.
struct StepScores {
  std::int64_t channels = 0;
  std::vector<std::int64_t> starts;   // [steps]: those with a truth, over which the means are
  std::vector<VariableScores> means;  // [steps, channels]
  double coverage = 0;                // that the intervals are to have; 0: there are none
};

/// The sums of the means, in the order of the starts on any number of ranks. Rank 0 has the first starts, and
/// adds them up as they come; other ranks keep theirs until they hand them over.
class ScoreSums {
 public:
  /// `first` and `count`: the starts of this rank.
  ScoreSums(RankGroup& ranks, std::int64_t steps, std::int64_t channels, std::int64_t first,
            std::int64_t count);

  /// Adds what was measured of each channel after a step, counted from 1. The starts of each step follow each
  /// other.
  void add(std::int64_t start, std::int64_t step, std::span<const VariableScores> scores);
  /// All ranks. Returns the means on rank 0.
  [[nodiscard]] StepScores means();

  /// Returns the bytes of a rank that has `starts` of them, while it measures and hands over.
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t steps, std::int64_t channels,
                                                std::int64_t starts, bool is_first_rank);

 private:
  struct Start {
    std::vector<char> known;             // [steps]
    std::vector<VariableScores> scores;  // [steps, channels]
  };
  void add_up(std::int64_t step, std::span<const VariableScores> scores);

  RankGroup& ranks_;
  std::int64_t first_;
  StepScores total_;           // of rank 0; sums until means()
  std::vector<Start> starts_;  // of other ranks
};

/// One of the measures, as it is written and drawn.
struct ScoreTable {
  std::string name;            // "rmse", "persistence_rmse", "spread"
  std::string meaning;         // "root mean square error of persistence"
  bool is_in_units;            // of the variable; otherwise it has no unit
  std::vector<double> values;  // [steps, channels]; NaN: not known
};

/// Returns the measures that are known of a variable at a step at all, roots of mean squares instead of
/// those.
[[nodiscard]] std::vector<ScoreTable> score_tables(const StepScores& scores);

}  // namespace mylos
