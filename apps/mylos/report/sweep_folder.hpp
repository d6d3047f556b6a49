// Reads the folder of a sweep, sweep.json and sweep.csv, without trusting it: it may be incomplete, of
// another version, or written at this moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/sweep/space/sweep_key.hpp"
#include "mylos/sweep/state/member_result.hpp"
#include "report_json.hpp"

namespace mylos::app {

struct StoredMember {
  std::int64_t number = 0;                // of its folder, members/0012
  std::optional<MemberState> state = {};  // nothing: a state of another version
  std::string state_name = {};            // as written
  std::optional<std::int64_t> rung = {};  // from 0
  std::int64_t steps = 0;
  std::optional<double> value = {};  // of the metric
  std::optional<std::int64_t> best_step = {};
  std::optional<double> seconds = {};
  std::optional<std::int64_t> ranks = {};
  std::string cause = {};
  std::vector<std::string> values = {};  // of the keys, in their order; "" if unknown

  /// True if the sweep has ended it, or would only resume it to promote it.
  [[nodiscard]] bool is_ended() const;
};

struct StoredSweep {
  std::string name;
  std::string deck;    // the base deck, as TOML
  std::string metric;  // "validation.loss"
  bool higher_is_better = false;
  std::string strategy;  // "grid", "random", "halving"
  std::int64_t trials = 0;
  std::int64_t ranks_per_trial = 0;
  std::int64_t seed = 0;
  std::string budget;         // "steps" or "time"
  std::vector<double> rungs;  // steps or seconds; the last is the end of a run
  std::vector<SweepKey> keys;
  std::vector<StoredMember> members;  // by number

  [[nodiscard]] bool is_better(double value, double other) const {
    return higher_is_better ? value > other : value < other;
  }
};

/// True if the folder has the files of a sweep.
[[nodiscard]] bool is_sweep(const std::string& folder);

/// Skipped, damaged and missing data are added to `notes`, a JSON array.
[[nodiscard]] StoredSweep read_sweep(const std::string& folder, ordered_json& notes);

/// Returns the indices of the members that have a value, without those that diverged or failed; the best
/// first, equal ones by number.
[[nodiscard]] std::vector<std::size_t> ranking_of(const StoredSweep& sweep);

/// Returns the folder of a member, an ordinary run.
[[nodiscard]] std::string folder_of_member(const std::string& sweep_folder, std::int64_t number);

}  // namespace mylos::app
