// Finds the keys whose values differ between two decks.
#pragma once

#include <string>
#include <vector>

#include "mylos/config/options.hpp"

namespace mylos {

struct KeyDifference {
  std::string key;     // "optimizer.lr"
  std::string before;  // as TOML; "nothing" if the key has no value
  std::string after;
};

/// Returns the differing keys in the schema's order.
[[nodiscard]] std::vector<KeyDifference> differing_keys(const Options& before, const Options& after);

}  // namespace mylos
