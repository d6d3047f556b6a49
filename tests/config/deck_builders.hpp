// Decks for the tests of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/config/deck.hpp"

namespace mylos::testing {

/// The minimum of a deck, placed before the lines under test.
constexpr std::string_view smallest = "run.steps = 100\ndata.train = \"train.h5\"\n";

/// The smallest deck, then the lines.
inline Deck read_with(std::string_view lines, const std::vector<std::string>& overrides = {}) {
  return read_deck(std::string(smallest) + std::string(lines), "deck.toml", overrides);
}

/// Returns the message of the refusal, "" if the deck is accepted.
inline std::string message_of(std::string_view text, const std::vector<std::string>& overrides = {}) {
  try {
    (void)read_deck(text, "deck.toml", overrides);
  } catch (const Error& error) {
    return std::string(error.code() == ExitCode::bad_input ? "" : "not bad input: ") + error.what();
  }
  return "";
}

/// Returns the message with which the smallest deck is refused.
inline std::string message_with(const std::vector<std::string>& overrides) {
  return message_of(smallest, overrides);
}

}  // namespace mylos::testing
