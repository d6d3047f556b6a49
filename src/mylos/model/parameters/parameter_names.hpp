// The names of a network's parameters, and a check of the deck's patterns for them.
#pragma once

#include <string>
#include <vector>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns "hidden1/weight" and so on, stage by stage, in the order of the stage's parameters().
[[nodiscard]] std::vector<std::string> parameter_names(const Chain& chain);

/// Throws Error (bad_input) that lists similar names if the pattern matches none of the names. `where`: the
/// key that holds it, with its position in the deck.
void require_match(const std::string& where, const std::string& pattern,
                   const std::vector<std::string>& names);

}  // namespace mylos
