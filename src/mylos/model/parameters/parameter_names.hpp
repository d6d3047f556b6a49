// The names of a network's parameters, and patterns of a deck that must match some.
#pragma once

#include <string>
#include <vector>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// "hidden1/weight", stage by stage, in the order of each one's parameters().
[[nodiscard]] std::vector<std::string> parameter_names(const Chain& chain);

/// "hidden1/weight, hidden2/weight": the few that are nearest to `wanted`.
[[nodiscard]] std::string nearest_names(const std::string& wanted, std::vector<std::string> names);

/// Throws Error (bad_input) where the pattern matches none of the names, telling near ones. `where`: the key
/// that holds it, with its place.
void require_match(const std::string& where, const std::string& pattern,
                   const std::vector<std::string>& names);

}  // namespace mylos
