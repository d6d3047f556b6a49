// Checks that all ranks see the same data: data files may lie on local disks of the nodes.
#pragma once

#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/options.hpp"
#include "mylos/data/run/run_data.hpp"

namespace mylos {

/// Returns the identity of the training data. Throws Error (bad_input) on every rank, with the same message,
/// if the training or test data differ between ranks; the message names the differing ranks. All ranks must
/// call it.
[[nodiscard]] std::string agreed_identity(const RunData& data, const DataOptions& files, RankGroup& ranks);

}  // namespace mylos
