// What is printed of a rollout.
#pragma once

#include <string>
#include <vector>

#include "launch/standard_output.hpp"
#include "mylos/inference/rollout/rollout.hpp"

namespace mylos::app {

/// Prints about ten of the steps; with a truth also a line about them all. `members`: their names.
void print_rollout(const Output& output, const RolloutResult& result, const std::vector<std::string>& members,
                   bool has_truth);

}  // namespace mylos::app
