// Entries: the keys and values of a deck and a command line, with their positions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/config/schema/types/value.hpp"

namespace mylos {

struct Place {
  std::string file;
  std::size_t line = 0;  // 0: the source has no lines (the command line)

  /// Returns "fashion.toml:12" or "command line".
  [[nodiscard]] std::string text() const;
};

struct Entry {
  std::string path;  // "precision.compute"
  Value
      value;  // an entry of a table of the user's own names (precision.rules) is a table with that one entry
  Place place;
  bool is_section = false;    // a [section] line that is not one of the schema's sections
  bool replaces_all = false;  // a complete table of the user's own names, from the command line
  std::string as_typed{};     // from the command line: the text after the '='
};

/// Returns the deck's entries in the order of its text. Throws if the text is not TOML, is too large or
/// nested too deeply, or has duplicate keys.
[[nodiscard]] std::vector<Entry> entries_of_deck(std::string_view text, const std::string& file_name);

/// Returns the entries of `section.key=value` arguments, in order.
[[nodiscard]] std::vector<Entry> entries_of_command_line(const std::vector<std::string>& overrides);

}  // namespace mylos
