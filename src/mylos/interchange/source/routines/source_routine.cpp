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
