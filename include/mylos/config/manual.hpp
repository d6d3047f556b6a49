// The manual of the deck, written from the schema: docs/deck.md and the command's help are this text.
#pragma once

#include <string>

namespace mylos {

/// Markdown: an example deck, then one table of keys per section.
[[nodiscard]] std::string deck_manual();

/// The example deck at the top of the manual.
[[nodiscard]] std::string example_deck();

}  // namespace mylos
