// The samples that a network was trained on, compared with those that it is to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/opened_network.hpp"

namespace mylos {

/// Puts the data of `opened` into the order of the network's columns, by their names, and adds lines about it
/// to its notes. `written`: the options of the run. `other_grid`: that of the data, if the network works on
/// another one than in training. Throws Error (bad_input) where samples lie on another grid, labels mean
/// other classes, or columns have other names than the network's, where both say it.
void match_samples(const DataOptions& written, const std::vector<std::int64_t>& other_grid,
                   OpenedNetwork& opened);

/// Returns the end of a message on data of another width: the names of both, where they are known.
[[nodiscard]] std::string names_of_inputs(const OpenedNetwork& opened);

/// All ranks, after their pass over the data. Returns a line on inputs outside the range of the training
/// samples; "" where all lie within, or the range is not known.
[[nodiscard]] std::string describe_outside(RankGroup& ranks, const OpenedNetwork& opened,
                                           const EvaluationPass& pass, DataPart part);
/// The same of what this rank's passes have counted. `samples`: of all ranks, if that is not the sum of
/// theirs.
[[nodiscard]] std::string describe_outside(RankGroup& ranks, const OpenedNetwork& opened,
                                           const OutsideRange& own, DataPart part,
                                           std::optional<std::int64_t> samples = {});

}  // namespace mylos
