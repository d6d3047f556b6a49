// Where predictions go: HDF5, or CSV where the file is called .csv.
//
// HDF5 has /outputs [samples, outputs], on request /standard_deviation, /lower and /upper of the same shape,
// /quantiles [levels, samples, outputs] and their /levels, and /members [members, samples, outputs]. A table
// has the columns NAME, NAME_sd, NAME_lower, NAME_upper, NAME_q0.05, ... and NAME_member_0, ... of each
// target.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "commands/prediction_parts.hpp"
#include "mylos/inference/predict.hpp"

namespace mylos::app {

/// What a file of predictions is to hold.
struct PredictionShape {
  std::int64_t samples = 0;
  std::int64_t outputs = 0;        // of a sample
  std::string meaning;             // "targets in their own units"
  std::vector<std::string> names;  // of the outputs; empty, or not as many: they have none
  std::string names_path;          // of them in HDF5, "/target_names"
  std::string unnamed;             // in CSV: "output" for columns output_0, output_1 ...
  std::string checkpoint;
  PredictionParts parts = {};
  std::vector<std::int64_t> extents = {};  // of the grid, on whose points the outputs of boxes lie
};

/// Appears as a whole, or not at all. Throws Error (failed) where the disk has no room, before anything is
/// computed.
class PredictionFile {
 public:
  virtual ~PredictionFile() = default;
  /// Rows of the samples, or boxes of them, in one of the file's arrays, in any order.
  virtual void write(const PredictionArray& array, const ComputedSamples& samples,
                     std::span<const float> values) = 0;
  /// After the last row of every array.
  virtual void close() = 0;
  /// Waits for the disk, without HDF5 or MPI.
  virtual void publish() = 0;
};

/// As the name says: a line of names and a line for each sample in a file called .csv, which takes complete
/// rows, else HDF5. Throws
/// Error (bad_input) of require_hdf5_name(), and where two columns of a table would have one name.
[[nodiscard]] std::unique_ptr<PredictionFile> make_prediction_file(const std::string& path,
                                                                   const PredictionShape& shape);

}  // namespace mylos::app
