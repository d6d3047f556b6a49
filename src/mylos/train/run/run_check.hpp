// What can be said of a run without starting it: deck, data and model against each other.
#pragma once

#include <string>

#include "mylos/config/options.hpp"
#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/train/run/run_request.hpp"

namespace mylos {

/// Steps of the run. Throws Error (bad_input) where the schedule does not fit into it.
[[nodiscard]] std::int64_t run_length(const Options& options, const Epochs& epochs);

/// Deck, data and network against each other, as every start checks them: `options` know the data's sizes.
/// The steps of the run. Throws Error (bad_input).
[[nodiscard]] std::int64_t require_consistent(const Options& options, const RunData& data,
                                              const Places& places);

/// The resolved deck, and behind it, as comments of the deck, the shapes of the data, the model and the run,
/// what it takes of this machine, and who or what is in its folder. All ranks call it. It goes the way of a
/// run's start (RunStart): it reads deck and data, throws the same Errors, and stops where the run would take
/// its memory. It compares no types by steps (precision.adapt), measures nothing and writes nothing. A folder
/// that another run works in or has used is no Error: that may be another one at the start, or the start a
/// restart.
[[nodiscard]] std::string check_run(RunRequest request, MPI_Comm ranks);

}  // namespace mylos
