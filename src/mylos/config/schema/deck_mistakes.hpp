// Positions in the messages of checks of several keys.
#pragma once

#include <initializer_list>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/config/schema/checks.hpp"

namespace mylos {

class DeckMistakes {
 public:
  DeckMistakes(const GivenPlaces& given, const std::string& file_name)
      : given_(given), file_name_(file_name) {}

  /// The message names the position of the given key that comes last.
  [[noreturn]] void fail(ErrorId id, std::initializer_list<const char*> keys,
                         const std::string& message) const {
    Place place{file_name_};
    for (const char* key : keys) {
      const auto found = given_.find(key);
      if (found == given_.end()) continue;
      const bool is_later = found->second.line == 0 || found->second.line > place.line;
      if (is_later) place = found->second;
      if (place.line == 0) break;  // the command line comes after all lines of the deck
    }
    fail_input(id, "{}: {}", place.text(), message);
  }

 private:
  const GivenPlaces& given_;
  const std::string& file_name_;
};

}  // namespace mylos
