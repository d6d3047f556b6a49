// Restart files: the solver's state and the network's, which belong together.
//
// FOLDER/solver-STEP.h5 and FOLDER/network-STEP.h5 are a pair; FOLDER/restart names the step of the newest
// complete one. It is replaced by a rename after both files are on disk, and older files are removed
// afterwards, so a process that is killed at any time leaves a complete pair.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulation.hpp"

namespace reacting {

/// Writes a pair. All ranks call it together. Throws mylos::Error if that fails.
void write_restart(Simulation& simulation, const std::string& folder);

/// Continues from the newest pair, bit for bit with the same numbers of ranks and threads. Throws
/// mylos::Error if there is none, or if it belongs to another grid, number of ranks or mode.
void read_restart(Simulation& simulation, const std::string& folder);

/// Writes `squares`, each [field, row, column] of all ranks, as datasets of an HDF5 file. Rank 0 calls it.
void write_squares(const std::string& path, const std::vector<std::pair<std::string, Square>>& squares);

}  // namespace reacting
