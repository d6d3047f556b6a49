// The manual of the deck, generated from the schema: the text of docs/reference/deck.md and of the command's
// help.
#pragma once

#include <string>

namespace mylos {

/// Returns Markdown: an example deck, then one table of keys per section.
[[nodiscard]] std::string deck_manual();

/// Returns plain text for a terminal: one line per section with the names of its keys.
[[nodiscard]] std::string deck_overview();

/// Returns the example deck at the start of the manual.
[[nodiscard]] std::string example_deck();

}  // namespace mylos
