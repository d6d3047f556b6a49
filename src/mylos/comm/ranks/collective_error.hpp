// Errors that reach all ranks: what one rank finds wrong (a file, a deck) ends every rank with the same
// message.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// All ranks call this. If any rank brings an Error, every rank throws the Error of the lowest such rank,
/// prefixed with "rank R: " unless all ranks brought the same message.
void throw_if_any(RankGroup& ranks, const std::optional<Error>& own);

/// Runs `function` on every rank and throws on all of them if it threw on any (other exceptions count as
/// failures of the run). `function` may exchange nothing that a failed rank would miss.
void run_on_all(RankGroup& ranks, const std::function<void()>& function);

/// The same, however long it takes on one of them: threads of their own run it while the ranks hear each
/// second which still do, and no wait of theirs ends. It may make no MPI call, and no call of a library that
/// makes some.
void run_on_each(RankGroup& ranks, const std::function<void()>& function);

/// Likewise on rank 0 alone. What it throws is thrown on all ranks.
void run_on_first(RankGroup& ranks, const std::function<void()>& function);

/// The text of rank `root`, on every rank.
[[nodiscard]] std::string broadcast_text(RankGroup& ranks, const std::string& text, int root = 0);

}  // namespace mylos
