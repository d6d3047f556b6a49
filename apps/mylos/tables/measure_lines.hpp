// The lines of `mylos eval` on measures besides the loss.
#pragma once

#include <string>
#include <vector>

#include "launch/standard_output.hpp"
#include "mylos/inference/scores/target_errors.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/train/evaluation/evaluation.hpp"

namespace mylos::app {

/// Returns the measures by the names of the command line option.
[[nodiscard]] std::vector<Measure> measures_of(const std::vector<std::string>& names);

/// Throws Error (bad_input) for measures that the network of this file does not have.
void require_measured(const std::string& path, const std::vector<Measure>& measures, const Chain& chain);

/// Throws Error (bad_input) for a network whose variables have no errors: of classes or tokens.
void require_variables(const std::string& path, const Chain& chain);

/// Prints the errors of each variable.
void print_errors(const Output& output, const std::vector<TargetError>& errors, const StoredNetwork& network);

/// Prints the measures in the order of the command line.
void print_measures(const Output& output, const std::vector<std::string>& wanted,
                    const Evaluation& evaluation, const StoredNetwork& network);

}  // namespace mylos::app
