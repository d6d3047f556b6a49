// Writes the initial weights of a deck's run as a checkpoint: random ones, or those of run.initial. Trains
// nothing and does not touch the run's folder.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/train/history/progress.hpp"

namespace mylos {

/// All ranks, with Kokkos running. Makes or replaces `path`, a checkpoint of step 0 with the weights that the
/// run has before its first step, bit for bit on any number of ranks, and with the normalisation and
/// vocabulary of its data. It has no optimizer state: it serves run.initial, evaluation and prediction, not a
/// restart. A deck without data.train must have the sizes. `output` receives the run's messages about its
/// initial weights. Returns the number of parameters. Throws Error on all ranks if a run of the deck would be
/// refused, or if the network does not fit the memory of a rank (does_not_fit).
std::int64_t write_initial_checkpoint(const Deck& deck, MPI_Comm ranks, const std::string& path,
                                      const Output& output);

}  // namespace mylos
