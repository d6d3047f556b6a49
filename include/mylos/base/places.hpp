// Where the values of a deck were set, for messages about values that turn out to be wrong later.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mylos {

/// Maps a key to its location, "deck.toml:12" or "command line". The key of a second table is
/// "optimizer.groups.2".
using Places = std::map<std::string, std::string>;

/// Returns the prefix of a message, "deck.toml:12: ", for the first of `keys` that has a location, else "".
[[nodiscard]] inline std::string place_of(const Places& places, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (const auto found = places.find(key); found != places.end()) return found->second + ": ";
  }
  return "";
}

}  // namespace mylos
