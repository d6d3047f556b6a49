// The manual of the deck, written from the schema: docs/deck.md and the command's help are this text.
#pragma once

#include <string>

namespace mylos {

/// Markdown: an example deck, then one table of keys per section.
[[nodiscard]] std::string deck_manual();

/// Plain text for a terminal: a line per section with the names of its keys.
[[nodiscard]] std::string deck_overview();

/// The example deck at the top of the manual.
[[nodiscard]] std::string example_deck();

}  // namespace mylos
