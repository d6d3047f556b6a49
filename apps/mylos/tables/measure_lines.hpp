// The lines of `mylos eval` on measures besides the loss.
#pragma once

#include <string>
#include <vector>

#include "launch/standard_output.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/train/evaluation/evaluation.hpp"

namespace mylos::app {

/// Returns the measures by the names of the command line option.
[[nodiscard]] std::vector<Measure> measures_of(const std::vector<std::string>& names);

/// Throws Error (bad_input) for measures that the network of this file does not have.
void require_measured(const std::string& path, const std::vector<Measure>& measures, const Chain& chain);

/// Prints the measures in the order of the command line.
void print_measures(const Output& output, const std::vector<std::string>& wanted,
                    const Evaluation& evaluation, const StoredNetwork& network);

}  // namespace mylos::app
