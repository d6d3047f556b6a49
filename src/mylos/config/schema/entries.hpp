// Entries: what a deck and a command line say, key by key, with the place where each is said.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/config/schema/value.hpp"

namespace mylos {

struct Place {
  std::string file;
  std::size_t line = 0;  // 0: the place has no lines (the command line)

  /// "fashion.toml:12" or "command line"
  [[nodiscard]] std::string text() const;
};

struct Entry {
  std::string path;  // "precision.compute"
  Value value;  // an entry of a table of the user's own names (precision.rules) is a table of that one entry
  Place place;
  bool is_section = false;    // a [section] line that names none of the schema's sections
  bool replaces_all = false;  // a whole table of the user's own names, from the command line
  std::string as_typed{};     // from the command line: the text behind the '='
};

/// The deck's entries in the order of its text. Throws for what is not TOML, too large or too deep, and for
/// duplicate keys.
[[nodiscard]] std::vector<Entry> entries_of_deck(std::string_view text, const std::string& file_name);

/// The entries of `section.key=value` arguments, in their order.
[[nodiscard]] std::vector<Entry> entries_of_command_line(const std::vector<std::string>& overrides);

}  // namespace mylos
