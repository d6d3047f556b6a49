// What a trained network knows of its samples, and what other samples have to do with it.
#pragma once

#include <string>
#include <vector>

#include "commands/trained_model.hpp"
#include "mylos/checkpoint/file/reader.hpp"

namespace mylos::app {

/// Makes the data of `trained` come in the order of the network's columns, by their names, and notes in it
/// what there is to say of that. `written`: the options of the run. Throws Error (bad_input) where samples
/// lie on another grid, labels mean other classes, or columns have other names than the network's, where both
/// say it.
void match_samples(const CheckpointReader& reader, const DataOptions& written, TrainedModel& trained);

/// The end of a message on data of another width: the names of both, where they are known.
[[nodiscard]] std::string names_of_inputs(const CheckpointReader& reader, const TrainedModel& trained);

/// All ranks call it, after their pass over the data: a line on inputs outside of the range of the training
/// samples; "" where all lie within, or it is not known.
[[nodiscard]] std::string describe_outside(const TrainedModel& trained, const EvaluationPass& pass,
                                           DataPart part);

}  // namespace mylos::app
