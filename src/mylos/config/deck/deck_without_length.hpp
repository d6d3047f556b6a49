// Decks of commands that train nothing: plans, initial weights, summaries of data.
#pragma once

#include "mylos/config/deck.hpp"

namespace mylos {

/// Reads a deck as read_deck() does, but run.epochs and run.steps may both be missing.
[[nodiscard]] Deck read_deck_without_length(std::string_view text, const std::string& file_name,
                                            const std::vector<std::string>& overrides);

}  // namespace mylos
