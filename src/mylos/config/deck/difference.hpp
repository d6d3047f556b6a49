// Which keys two decks give different values.
#pragma once

#include <string>
#include <vector>

#include "mylos/config/options.hpp"

namespace mylos {

struct KeyDifference {
  std::string key;     // "optimizer.lr"
  std::string before;  // as TOML; "nothing" where the key has no value
  std::string after;
};

/// In the schema's order.
[[nodiscard]] std::vector<KeyDifference> differing_keys(const Options& before, const Options& after);

}  // namespace mylos
