// SourceRoutine: one of the routines that exported source consists of, as text of its language.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

struct SourceRoutine {
  std::string_view name;
  std::vector<std::string_view> calls;  // other routines, which the table has before it
  std::string text;
};

/// Returns the text with $width, and $last for one less.
[[nodiscard]] std::string of_width(std::string text, int width);

/// Returns the text with each $[part$|separator$] repeated for that number of columns, whose number, from
/// `first` on, replaces $c, joined by the separator.
[[nodiscard]] std::string of_columns(std::string text, int columns, int first = 0);

/// Returns the texts of the named routines and of those that they call, in the order of the table.
[[nodiscard]] std::string texts_of(std::span<const SourceRoutine> table, std::set<std::string> names);

}  // namespace mylos
