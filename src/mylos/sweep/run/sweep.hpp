// Sweep: the members of a sweep, and what is decided for all of them before the first one starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/sweep/schedule/halving.hpp"
#include "mylos/sweep/space/trials.hpp"
#include "mylos/sweep/state/sweep_description.hpp"
#include "mylos/train/evaluation/metric.hpp"

namespace mylos {

/// What a user asks of `mylos sweep`.
struct SweepRequest {
  std::string deck_text;
  std::string deck_file;           // its name, for messages
  std::vector<std::string> words;  // key=values
  std::string folder;              // "" = runs/NAME-sweep
  std::int64_t trials = 0;         // 0 = the grid
  int ranks_per_trial = 1;
  std::string metric;  // "" = the validation loss, or else that of the test data, or of training
  bool halving = false;
  std::int64_t first_rung = 0;  // steps or seconds; 0 = the steps of the last rung / factor^2
  int factor = 3;
  bool by_time = false;
  std::uint64_t seed = 1;
};

class Sweep {
 public:
  /// Reads the words, chooses the trials and reads the deck of each. The same on all ranks. Throws Error
  /// (bad_input) if a word or a member's deck is wrong.
  explicit Sweep(SweepRequest request);

  /// All ranks, once libraries have started: rank 0 opens the data, and determines rungs and metric. Throws
  /// Error on all ranks: not_measured if a member does not measure the metric, and as open_run_data() if no
  /// member has data.
  void open(RankGroup& ranks);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string folder_of(std::size_t member) const;
  [[nodiscard]] std::size_t members() const { return trials_.size(); }
  /// Returns the deck by which a member is trained: `mylos train` trains the same run by it.
  [[nodiscard]] Deck deck_of(std::size_t member) const;
  /// Returns "optimizer.lr=0.01, model.dropout=0.1".
  [[nodiscard]] std::string values_of(std::size_t member) const;
  [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
  [[nodiscard]] const std::vector<SweepKey>& keys() const { return description_.keys; }
  [[nodiscard]] const SweepDescription& description() const { return description_; }
  [[nodiscard]] const Options& options() const { return base_.options; }
  [[nodiscard]] const Metric& metric() const { return metric_; }
  [[nodiscard]] SweepRules rules() const;

 private:
  [[nodiscard]] std::vector<std::string> overrides_of(std::size_t member) const;
  void choose_metric(const Options& options, const EvaluationData& data);
  void require_measured(const Options& options, const EvaluationData& data, std::size_t member) const;
  void open_data();
  [[nodiscard]] std::vector<std::int64_t> rungs_of(std::int64_t steps) const;

  SweepRequest request_;
  SweepDescription description_;
  std::vector<std::string> overrides_;  // of all members
  std::vector<Trial> trials_;
  Deck base_;
  std::string folder_;
  Metric metric_;
};

}  // namespace mylos
