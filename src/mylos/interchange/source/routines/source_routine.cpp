#include "mylos/interchange/source/routines/source_routine.hpp"

#include <algorithm>
#include <utility>

#include "mylos/interchange/source/source_text.hpp"

namespace mylos {

std::string of_width(std::string text, int width) {
  replace_all(text, "$width", std::to_string(width));
  replace_all(text, "$last", std::to_string(width - 1));
  return text;
}

std::string of_columns(std::string text, int columns, int first) {
  for (std::size_t begin = text.find("$["); begin != std::string::npos; begin = text.find("$[")) {
    const std::size_t bar = text.find("$|", begin);
    const std::size_t end = text.find("$]", bar);
    const std::string part = text.substr(begin + 2, bar - begin - 2);
    const std::string separator = text.substr(bar + 2, end - bar - 2);
    std::string repeated;
    for (int column = 0; column < columns; ++column) {
      std::string each = part;
      replace_all(each, "$c", std::to_string(first + column));
      repeated += (column > 0 ? separator : "") + each;
    }
    text.replace(begin, end + 2 - begin, repeated);
  }
  return text;
}

std::string texts_of(std::span<const SourceRoutine> table, std::set<std::string> names) {
  // Backwards: a routine calls only routines before it.
  for (auto routine = table.rbegin(); routine != table.rend(); ++routine) {
    if (!names.contains(std::string(routine->name))) continue;
    for (const std::string_view called : routine->calls) names.emplace(called);
  }
  std::string text;
  for (const SourceRoutine& routine : table) {
    if (names.contains(std::string(routine.name))) text += routine.text;
  }
  return text;
}

}  // namespace mylos
