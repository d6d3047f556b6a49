// The samples that a network was trained on, compared with those that it is to read.
#pragma once

#include <string>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/trained_network.hpp"

namespace mylos {

/// Puts the data of `trained` into the order of the network's columns, by their names, and adds lines about
/// it to its notes. `written`: the options of the run. Throws Error (bad_input) where samples lie on another
/// grid, labels mean other classes, or columns have other names than the network's, where both say it.
void match_samples(const CheckpointReader& reader, const DataOptions& written, TrainedNetwork& trained);

/// Returns the end of a message on data of another width: the names of both, where they are known.
[[nodiscard]] std::string names_of_inputs(const CheckpointReader& reader, const TrainedNetwork& trained);

/// All ranks, after their pass over the data. Returns a line on inputs outside the range of the training
/// samples;
/// "" where all lie within, or the range is not known.
[[nodiscard]] std::string describe_outside(RankGroup& ranks, const TrainedNetwork& trained,
                                           const EvaluationPass& pass, DataPart part);
/// The same of what this rank's passes have counted.
[[nodiscard]] std::string describe_outside(RankGroup& ranks, const TrainedNetwork& trained,
                                           const OutsideRange& own, DataPart part);

}  // namespace mylos
