// Errors shared by all ranks: if one rank finds an error (in a file or a deck), every rank ends with the same
// message.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Throws on all ranks if any rank passes an Error. All ranks call this. The thrown Error is that of the
/// lowest such rank, prefixed with "rank R: " unless all ranks passed the same message.
void throw_if_any(RankGroup& ranks, const std::optional<Error>& own);

/// Runs `function` on every rank and throws on all ranks if it threw on any (other exceptions count as
/// failures of the run). `function` must not make exchanges that a failed rank would miss.
void run_on_all(RankGroup& ranks, const std::function<void()>& function);

/// Does the same for a `function` of any duration: it runs on a separate thread of each rank, and the ranks
/// exchange every second which of them still run, so that no wait times out. `function` must not call MPI,
/// nor a library that does.
void run_on_each(RankGroup& ranks, const std::function<void()>& function);

/// Does the same on rank 0 only. An exception is thrown on all ranks.
void run_on_first(RankGroup& ranks, const std::function<void()>& function);

/// Returns the text of rank `root` on every rank.
[[nodiscard]] std::string broadcast_text(RankGroup& ranks, const std::string& text, int root = 0);

}  // namespace mylos
