// Writes the initial weights of a deck's run as a checkpoint: random ones, or those of run.initial. Trains
// nothing and does not touch the run's folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/train/history/progress.hpp"

namespace mylos {

/// Weights of another source than the seed and run.initial, in our layout. For one rank.
struct OtherWeights {
  /// Called before memory is taken for the network, whose sizes are set in the options. Throws Error if the
  /// source does not have its weights.
  std::function<void(const Options& options, const Chain& chain)> prepare;
  /// Returns all numbers of a parameter or running statistic ("conv1/weight").
  std::function<std::vector<float>(const std::string& path)> read;
  /// The scaling of inputs and targets that belongs to the weights, if the deck has no data.
  Normalizer normalizer = {};
};

/// All ranks, with Kokkos running. Makes or replaces `path`, a checkpoint of step 0 with the weights that the
/// run has before its first step, bit for bit on any number of ranks, and with the normalisation and
/// vocabulary of its data. It has no optimizer state: it serves run.initial, evaluation and prediction, not a
/// restart. A deck without data.train must have the sizes. `output` receives the run's messages about its
/// initial weights. Returns the number of parameters. Throws Error on all ranks if a run of the deck would be
/// refused, or if the network does not fit the memory of a rank (does_not_fit). `other`: a source that
/// replaces run.initial, or null.
std::int64_t write_initial_checkpoint(const Deck& deck, MPI_Comm ranks, const std::string& path,
                                      const Output& output, const OtherWeights* other = nullptr);

}  // namespace mylos
