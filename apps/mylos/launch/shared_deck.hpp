// The deck of a command that all ranks run: rank 0 reads the file.
#pragma once

#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/deck.hpp"

namespace mylos::app {

/// All ranks call it. Throws on all of them like read_deck() and read_deck_file().
[[nodiscard]] Deck read_shared_deck(RankGroup& ranks, const std::string& file,
                                    const std::vector<std::string>& overrides);

/// True if a reproducible run needs the same number of threads elsewhere, because oneDNN splits sums among
/// them.
[[nodiscard]] bool needs_these_threads(const Options& options);

}  // namespace mylos::app
