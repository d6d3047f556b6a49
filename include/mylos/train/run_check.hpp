// What can be said of a run without starting it: deck, data and model against each other.
#pragma once

#include <string>

#include "mylos/comm/rank_group.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/epochs.hpp"

namespace mylos {

/// Steps of the run. Throws Error (bad_input) where the schedule does not fit into it.
[[nodiscard]] std::int64_t run_length(const Options& options, const Epochs& epochs);

/// The resolved deck, and behind it, as comments of the deck, the shapes of the data, the model and the run,
/// what it takes of this machine, and who or what is in its folder. All ranks call it; reads the data's
/// headers, allocates and writes nothing. Throws Error (bad_input, does_not_fit) as a run of these ranks
/// would, but for the state of its folder, which may be another one at the start.
[[nodiscard]] std::string check_run(const Deck& deck, RankGroup& ranks);

}  // namespace mylos
