// Divisions of samples over ranks that fit the memory: what mesh.space = "auto" takes, and what refusals
// propose. Both try the same divisions in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// What the divisions of samples into one number of boxes come to.
struct DivisionTrial {
  std::optional<NetworkPlan> fitting;   // with the first with which the run fits
  std::optional<NetworkPlan> possible;  // with the first that network and data allow
  std::string obstacle;                 // why the first that they do not allow is refused
};

/// Tries to divide each sample into `boxes` boxes on `ranks` ranks, with the smallest faces first. Along each
/// axis there are multiples of the boxes of the problem's own division, if it has one. With memory.on_oom =
/// "shrink" a run also fits with a smaller micro-batch. Throws nothing that a division is refused with.
[[nodiscard]] DivisionTrial try_divisions(const MemoryProblem& problem, std::int64_t boxes, int ranks);

/// Returns the boxes along each axis that mesh.space = "auto" means on `ranks` ranks: the fewest with which
/// the run fits; 1 along each axis if whole samples do. `problem`: of the network on one rank, with whole
/// samples. Throws Error (does_not_fit) as refusal() if no division fits, (bad_input) if none is possible.
[[nodiscard]] std::vector<std::int64_t> choose_space(const MemoryProblem& problem, int ranks);

}  // namespace mylos
