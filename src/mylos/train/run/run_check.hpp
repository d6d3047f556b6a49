// Checks of a run that do not start it: deck, data and model must agree.
#pragma once

#include <string>

#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/train/run/run_request.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

/// Returns the steps of the run. Throws Error (bad_input) if the learning-rate schedule does not fit into it.
[[nodiscard]] std::int64_t run_length(const Options& options, const Epochs& epochs);

/// Checks deck, data and network against each other, as every start does. Throws Error (bad_input).
void require_consistent(const NetworkPlan& network, const RunData& data, const Places& places);

/// All ranks. Returns the resolved deck, followed by comments: the shapes of data, model and run, the
/// resources on this machine, and the state of the run's folder. Follows the start of a run (RunStart): reads
/// deck and data, throws the same Errors, and stops before the run would allocate memory. Compares no types
/// by trials (precision.adapt), measures nothing and writes nothing. A folder that another run uses is no
/// Error: it may be free when the run starts, or the start may be a restart.
[[nodiscard]] std::string check_run(RunRequest request, MPI_Comm ranks);

}  // namespace mylos
