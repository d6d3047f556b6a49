// Kernel options that all ranks agree on: replicas must compute the same bits.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

/// All ranks. Returns the options for the GEMM engines of all ranks. If the deck leaves the instructions open
/// and the ranks' processors differ, it selects the best instructions that all of them have. Throws Error
/// (bad input) that names a rank without the requested instructions.
[[nodiscard]] KernelOptions agreed_kernels(const KernelOptions& wanted, RankGroup& ranks);

/// Makes the engines with the agreed options. `line` receives a message that names the ranks because of which
/// this rank uses lesser instructions than it could. Throws Error (bad input) if the ranks' GEMMs would still
/// use different engines or instructions.
[[nodiscard]] std::unique_ptr<EngineSet> make_agreed_engines(
    const KernelOptions& wanted, RankGroup& ranks,
    const std::function<void(const std::string&)>& line = [](const std::string&) {});

}  // namespace mylos
