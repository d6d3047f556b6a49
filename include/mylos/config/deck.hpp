// The deck: a run's description in TOML, read into options and echoed with every default filled in.
//
// The schema is closed (docs/deck.md lists it): an unknown or duplicate key, a value of the wrong type or out
// of its range, and keys that contradict each other throw Error with ExitCode::bad_input. The message begins
// with file:line, or with "command line" for an override.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/config/options.hpp"

namespace mylos {

struct Deck {
  Options options;
  std::string resolved;  // TOML that reads back to the same options
  Places places = {};    // of what the deck gives
};

/// Reads a deck's text. `file_name` is for messages only. Each override is `section.key=value`: the value is
/// read as TOML, else as a plain string; it takes the place of what the deck says. An override of one of
/// run.epochs and run.steps takes the place of either.
[[nodiscard]] Deck read_deck(std::string_view text, const std::string& file_name,
                             const std::vector<std::string>& overrides);

/// The deck that a checkpoint holds; `checkpoint`, the file, is for messages only. Keys that had no effect
/// when an earlier version wrote it have none here, where a user's deck is refused for them.
[[nodiscard]] Deck read_stored_deck(std::string_view text, const std::string& checkpoint);

/// The options of a deck file.
[[nodiscard]] Options read_deck(const std::string& path);

/// The text of a deck file: for one rank to read and hand to the others. Refuses what is no regular file and
/// what is larger than a deck may be (1 MiB).
[[nodiscard]] std::string read_deck_file(const std::string& path);

/// Every key that has an effect with its value in these options, as a deck.
[[nodiscard]] std::string resolve(const Options& options);

}  // namespace mylos
