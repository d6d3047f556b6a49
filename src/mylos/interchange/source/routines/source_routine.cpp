#include "mylos/interchange/source/routines/source_routine.hpp"

#include <algorithm>

namespace mylos {

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
