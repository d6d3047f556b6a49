// The type in which each layer of a run computes, from its deck.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// [{name, kind, compute, input, output}, ...]; null and a note if this version cannot read the deck.
/// `resolved`: the text of resolved.toml.
[[nodiscard]] ordered_json layers_of(const std::string& resolved, ordered_json& notes);

}  // namespace mylos::app
