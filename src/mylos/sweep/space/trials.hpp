// Trials: the values of the varied keys of each member: all points of a grid, or a Latin hypercube sample
// (McKay, Beckman, Conover, Technometrics 21, 1979).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/sweep/space/sweep_key.hpp"

namespace mylos {

/// A value for each key, as a deck would give it.
using Trial = std::vector<std::string>;

inline constexpr std::int64_t max_trials = 100'000;

/// Returns whether all keys are lists: then they have a grid.
[[nodiscard]] bool has_grid(const std::vector<SweepKey>& keys);
/// Returns the number of points of the grid; at most max_trials + 1.
[[nodiscard]] std::int64_t grid_size(const std::vector<SweepKey>& keys);
/// Returns the points of the grid; the last key varies fastest.
[[nodiscard]] std::vector<Trial> grid_trials(const std::vector<SweepKey>& keys);

/// Returns `count` trials that depend on the seed alone. Each key's range is divided into `count` equal
/// intervals (of its logarithm, on a logarithmic scale), and each interval has one trial; a list's values
/// occur equally often, up to one. Integers are rounded. If all keys are lists, the trials are different
/// points of the grid.
[[nodiscard]] std::vector<Trial> random_trials(const std::vector<SweepKey>& keys, std::int64_t count,
                                               std::uint64_t seed);

/// Returns the trials of a command line: `count` random ones, or the grid if it is 0. Throws Error
/// (bad_input): ranges without a count, more trials than the grid has, too many trials.
[[nodiscard]] std::vector<Trial> choose_trials(const std::vector<SweepKey>& keys, std::int64_t count,
                                               std::uint64_t seed);

}  // namespace mylos
