// Model files: what inference needs of a checkpoint, in one file, with the weights in the type that the
// network computes in. `mylos export` and `mylos calibrate` write them. CheckpointReader,
// read_stored_network() and InferenceModel::read() read them, as they read checkpoints.
//
// The file has the structure of a checkpoint (checkpoint/write/writer.hpp) with the format "mylos-model":
//
//   /model/<layer>/<parameter>           in the type of its layer; fp32 if layers of different types read it
//   /buffers/<layer>/<name>              statistics of normalisation layers
//   /data, /input_range, /vocabulary     as in the checkpoint (network_state.hpp)
//   /samples/{grid, ...names}            likewise
//   /calibration, /rollout_calibration   of `mylos calibrate` (uncertainty/calibration.hpp)
//   /inputs                              where asked for: of inputs (uncertainty/stored_inputs.hpp)
//   /provenance/{run, checkpoint, weights, compute, code_version, created}   of the checkpoint
//   /deck                                of the run, with all sizes and the exported type
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/inference/input_check.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos {

struct ModelFileOptions {
  std::optional<DType> type = std::nullopt;  // replaces the deck's precision.compute; its rules stay
  StoredWeights weights = StoredWeights::current;
  std::optional<InputStatistics> inputs = std::nullopt;  // for distances of inputs: measure_inputs()
  std::vector<ConformalCalibration> calibrations = {};   // without `type`: of the run's outputs
};

struct WrittenModel {
  DType type = DType::fp32;       // the network's precision.compute
  std::int64_t weights = 0;       // number of them
  std::int64_t weight_bytes = 0;  // in the file
};

/// Writes a model file of an open checkpoint to `path`. For one rank. Weights are rounded to nearest, once.
/// They pass through a few MiB of memory, whatever their number. An existing file stays unchanged until the
/// new one is complete and verified. Throws Error: bad_input if the checkpoint contradicts itself, has no
/// average that is wanted, or has a weight that the type cannot hold; failed if the disk is full or fails.
WrittenModel write_model_file(const CheckpointReader& checkpoint, const std::string& path,
                              const ModelFileOptions& options);

}  // namespace mylos
