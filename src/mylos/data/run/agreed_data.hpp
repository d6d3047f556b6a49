// Data files may lie on each node's own disk: all ranks must see the same.
#pragma once

#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/options.hpp"
#include "mylos/data/run/run_data.hpp"

namespace mylos {

/// The identity of the training data. Throws Error (bad_input), the same on every rank, where training or
/// test data are not those of all other ranks; it names the odd ones. All ranks call it.
[[nodiscard]] std::string agreed_identity(const RunData& data, const DataOptions& files, RankGroup& ranks);

}  // namespace mylos
