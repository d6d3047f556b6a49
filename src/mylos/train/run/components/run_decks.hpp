// The decks that a run writes to its folder: resolved.toml and amended.toml.
#pragma once

#include <string>
#include <vector>

#include "mylos/train/run/components/run_context.hpp"

namespace mylos {

/// On rank 0. Writes the resolved deck of this start, with the sizes that the data have. Returns messages.
[[nodiscard]] std::vector<std::string> write_resolved_deck(const RunContext& run,
                                                           const std::string& resolved);
/// On rank 0. Writes amended.toml, or removes it if the deck has no amendments. Returns messages.
[[nodiscard]] std::vector<std::string> write_amended_deck(const RunContext& run);

}  // namespace mylos
