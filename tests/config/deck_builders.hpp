// Decks for the tests of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/config/deck.hpp"

namespace mylos::testing {

/// What a deck needs at least, to stand above the lines that a test is about.
constexpr std::string_view smallest = "run.steps = 100\ndata.train = \"train.h5\"\n";

/// The smallest deck, then the lines.
inline Deck read_with(std::string_view lines, const std::vector<std::string>& overrides = {}) {
  return read_deck(std::string(smallest) + std::string(lines), "deck.toml", overrides);
}

/// The message that a deck is refused with, "" if it is not.
inline std::string message_of(std::string_view text, const std::vector<std::string>& overrides = {}) {
  try {
    (void)read_deck(text, "deck.toml", overrides);
  } catch (const Error& error) {
    return error.code() == ExitCode::bad_input ? error.what() : std::string("not bad input: ") + error.what();
  }
  return "";
}

/// The message that the smallest deck is refused with.
inline std::string message_with(const std::vector<std::string>& overrides) {
  return message_of(smallest, overrides);
}

}  // namespace mylos::testing
