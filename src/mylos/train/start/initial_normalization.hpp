// How a run that is initialised from the weights of a file scales its inputs and targets: as the file states,
// or by the statistics of the run's data (initial.normalization). Weights expect the numbers that they were
// trained on; another shift or scale changes every output of the network.
//
// Inputs keep the file's scaling if the layer that reads them is taken from the file, and the run has the
// same variables: the same number of columns (on another grid, of channels) and, if both name them, the same
// names in the same order. Targets likewise, if the layer that computes the outputs is taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/train/start/initial_meaning.hpp"

namespace mylos {

/// What a file of weights states about its data.
struct StoredScaling {
  std::string path;                      // of the file
  std::optional<Normalize> method = {};  // data.normalize of its deck; none: it has no deck that can be read
  std::optional<std::vector<std::string>> differences = {};  // the targets that are differences; likewise
  ColumnScaling inputs = {};
  ColumnScaling targets = {};
  SampleMeaning samples = {};  // the grid and the names, where a checkpoint states them
};

/// All ranks. Reads the scaling and the names in a checkpoint, or in a safetensors file that `mylos convert`
/// wrote. Throws Error (bad_input) if these are damaged.
[[nodiscard]] StoredScaling read_stored_scaling(RankGroup& ranks, WeightFile& file);

struct KeptScaling {
  GivenScalings given;
  std::string line;  // for the log; "" if the run normalises nothing
};

/// Chooses the scalings that the run keeps. `options`: with the sizes of the data. Throws Error (bad_input)
/// for initial.normalization = "keep" if the run has other variables, or there is nothing to keep.
[[nodiscard]] KeptScaling kept_scaling(const StoredScaling& stored, const Options& options,
                                       const SampleMeaning& here, const TakenEnds& taken,
                                       const Places& places);

}  // namespace mylos
