// The deck of a command that all ranks run: rank 0 reads the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/deck.hpp"

namespace mylos::app {

/// A function that reads a deck's text.
using DeckReader = Deck(std::string_view text, const std::string& file_name,
                        const std::vector<std::string>& overrides);

/// All ranks call it; from here on they wait for each other as the deck says. Throws on all of them like
/// `read` and read_deck_file().
[[nodiscard]] Deck read_shared_deck(RankGroup& ranks, const std::string& file,
                                    const std::vector<std::string>& overrides, DeckReader* read = read_deck);

/// True if a reproducible run needs the same number of threads elsewhere, because oneDNN splits sums among
/// them.
[[nodiscard]] bool needs_these_threads(const Options& options);

}  // namespace mylos::app
