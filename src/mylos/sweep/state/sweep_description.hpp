// SweepDescription: what a sweep was asked for, as in the file sweep.json of its folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/sweep/space/sweep_key.hpp"

namespace mylos {

enum class SweepStrategy { grid, random, halving };

struct SweepDescription {
  std::string name;
  std::string deck;  // resolved, without the values of the varied keys
  std::string metric;
  bool higher_is_better = false;
  SweepStrategy strategy = SweepStrategy::grid;
  std::int64_t trials = 0;
  int ranks_per_trial = 1;
  std::uint64_t seed = 1;
  bool by_time = false;             // rungs are seconds, not steps
  int factor = 3;                   // of halving
  std::vector<std::int64_t> rungs;  // the last one is the end of a run
  std::vector<SweepKey> keys;
};

/// Returns the text of sweep.json.
[[nodiscard]] std::string document_of(const SweepDescription& sweep);

/// Throws Error (bad_input, restart_mismatch) if `text`, that of the file `path`, describes another sweep;
/// the message names what differs.
void require_same_sweep(const std::string& text, const std::string& path, const SweepDescription& sweep);

}  // namespace mylos
