// The deck: a run's description in TOML. It is read into options and written back with every default filled
// in.
//
// The schema is closed (docs/reference/deck.md lists it). Unknown or duplicate keys, values of a wrong type
// or out of range, and contradicting keys throw Error with ExitCode::bad_input. The message starts with
// file:line, or with "command line" for an override.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/config/options.hpp"

namespace mylos {

/// A deck that was read.
struct Deck {
  Options options;       // with every default filled in
  std::string resolved;  // TOML that gives the same options when it is read
  Places places = {};    // of the keys that the deck gives
};

/// Reads a deck's text. `file_name` is used in messages only. Each override is `section.key=value`; it
/// replaces the deck's value. The value is read as TOML, otherwise as a plain string. An override of
/// run.epochs or run.steps replaces either key.
[[nodiscard]] Deck read_deck(std::string_view text, const std::string& file_name,
                             const std::vector<std::string>& overrides);

/// Reads the deck that a checkpoint stores; `checkpoint`, the file, is used in messages only. Keys that had
/// no effect when an earlier version wrote them are ignored here; a user's deck with such keys is refused.
[[nodiscard]] Deck read_stored_deck(std::string_view text, const std::string& checkpoint);

/// Reads the options of a deck file.
[[nodiscard]] Options read_deck(const std::string& path);

/// Returns the text of a deck file, for one rank that reads it and sends it to the others. Refuses files that
/// are not regular and files larger than the limit for decks (1 MiB).
[[nodiscard]] std::string read_deck_file(const std::string& path);

/// Returns every key that has an effect, with its value in these options, as a deck.
[[nodiscard]] std::string resolve(const Options& options);

}  // namespace mylos
