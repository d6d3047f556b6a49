// Where a deck says what: for messages about values that only later turn out to be wrong.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mylos {

/// By key, "deck.toml:12" or "command line"; of a key's second table, "optimizer.groups.2".
using Places = std::map<std::string, std::string>;

/// What a message about the first of these keys that has a place begins with, "deck.toml:12: ", or nothing.
[[nodiscard]] inline std::string place_of(const Places& places, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (const auto found = places.find(key); found != places.end()) return found->second + ": ";
  }
  return "";
}

}  // namespace mylos
