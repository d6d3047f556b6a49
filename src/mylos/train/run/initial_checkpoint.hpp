// The weights with which a run of a deck begins, as a checkpoint: drawn, or those of run.initial. Nothing is
// trained, and the run's folder is not touched.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/train/history/progress.hpp"

namespace mylos {

/// All ranks, with Kokkos running. Makes or replaces `path`, a checkpoint of step 0 with the bits that the
/// run has before its first step, whatever the number of ranks, and with the normalisation and vocabulary of
/// its data. It holds no optimizer: for run.initial, evaluation and prediction, not for a restart. A deck
/// without data.train says the sizes itself. `output` gets what a run says of its initial weights. Returns
/// the number of parameters. Throws Error on all ranks: for what a run of the deck would be refused for, and
/// does_not_fit where a rank has no memory for what it holds of the network.
std::int64_t write_initial_checkpoint(const Deck& deck, MPI_Comm ranks, const std::string& path,
                                      const Output& output);

}  // namespace mylos
