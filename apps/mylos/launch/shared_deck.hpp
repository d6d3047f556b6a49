// The deck of a command that all ranks run: rank 0 reads the file.
#pragma once

#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/deck.hpp"

namespace mylos::app {

/// All ranks call it. Throws on all of them as read_deck() and read_deck_file().
[[nodiscard]] Deck read_shared_deck(RankGroup& ranks, const std::string& file,
                                    const std::vector<std::string>& overrides);

/// Whether a run that is to have the same bits elsewhere needs as many threads there: oneDNN cuts sums by
/// them.
[[nodiscard]] bool needs_these_threads(const Options& options);

}  // namespace mylos::app
