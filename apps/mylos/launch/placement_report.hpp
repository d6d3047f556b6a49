// Reports on a placement: warnings about problems, and a table.
#pragma once

#include <string>
#include <vector>

#include "launch/placement.hpp"

namespace mylos::app {

/// At most one line on cores and threads and one on devices, each with the option to use; none if all is
/// right. The first of the nodes with the same problem is named. `reproducible`: of a reproducible run; a
/// further line warns if it could have another number of threads elsewhere.
[[nodiscard]] std::vector<std::string> placement_advice(const Placement& placement,
                                                        bool reproducible = false);

/// A line for each rank, beginning with "#" like comments of a deck. Only the first of several nodes with the
/// same layout is listed.
[[nodiscard]] std::string placement_table(const Placement& placement);

}  // namespace mylos::app
