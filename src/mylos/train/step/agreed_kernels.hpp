// The instructions that all ranks have: replicas must compute the same bits.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// What the engines of all ranks are made with. Where the deck leaves the instructions open and the ranks'
/// processors differ, it is the best that all of them have. All ranks call it. Throws Error (bad input) that
/// names a rank without the instructions that are asked for.
[[nodiscard]] KernelOptions agreed_kernels(const KernelOptions& wanted, RankGroup& ranks);

/// The engine by what is agreed. `line` is told where that is less than this deck leaves open, and of which
/// ranks. Throws Error (bad input) where the ranks' products would be of other engines or instructions
/// nevertheless.
[[nodiscard]] std::unique_ptr<GemmEngine> make_agreed_engine(
    const KernelOptions& wanted, RankGroup& ranks,
    const std::function<void(const std::string&)>& line = [](const std::string&) {});

}  // namespace mylos
