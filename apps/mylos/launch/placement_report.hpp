// What is said of a placement: advice where something is wrong with it, and a table where somebody asks.
#pragma once

#include <string>
#include <vector>

#include "launch/placement.hpp"

namespace mylos::app {

/// At most a line on cores and threads and one on devices, each with what to type; none where all is right.
/// Nodes with the same trouble are named by the first of them. `reproducible`: of a run that is to have the
/// same bits elsewhere; another line then where it would have other threads there.
[[nodiscard]] std::vector<std::string> placement_advice(const Placement& placement,
                                                        bool reproducible = false);

/// A line for each rank, each beginning with "#" as comments of a deck do. Of nodes that are laid out alike
/// the first stands for all.
[[nodiscard]] std::string placement_table(const Placement& placement);

}  // namespace mylos::app
