// RunState: what a run puts into a checkpoint beside the arenas, and the map from all of it to paths in the
// file.
//
//   /model/<layer>/<parameter>           master weights; without masters the weights, as floats all the same
//   /optimizer/<layer>/<parameter>/<m>   moments
//   /average/<layer>/<parameter>         the moving average of the weights, where the run has one
//   /scaler/...                          the loss scaler's whole state, and its statistics
//   /schedule/{step, updates}            steps begun, and those that were not skipped
//   /data/{position, epoch, identity}    samples consumed; which data
//   /data/normalization/{inputs,targets}/{shift,scale}
//   /input_range/{min,max}               of the training samples, of each input or each channel of a grid
//   /vocabulary/{kind,size,characters}   what tokens stand for
//   /loss/weights                        the weight of each point of a field, of mean 1, if they differ
//   /random/{seed, step, generator}      counter-based: that is all its state
//   /plan/...                            what the run chose for this machine
//   /history/<column>                    the last rows of history.csv
//   /history/evaluations/<column>        the last rows of evaluations.csv
//   /evaluation/...                      the training loss since the last evaluation; the best one so far
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/data/files/meaning/vocabulary.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/step/quiesced.hpp"

namespace mylos {

struct RunState {
  StepState step;
  StoredData data;
  std::uint64_t seed = 1;
  std::string gemm_engine;
  std::int64_t micro_batch = 0;
  std::int64_t arena_bytes = 0;  // of the activations
  std::int64_t rank_bytes = 0;   // predicted peak of a rank
  std::string operations;        // of a micro-batch, as JSON
  PointWeights point_weights;    // empty: all points count alike
};

/// Sets what is computed here and how: the seed, the engine, the plan.
void note_assembly(const Assembly& parts, RunState& state);

/// Sets the weights of points that the loss has.
void record_weights(const ModelOptions& model, RunState& state);

/// Returns all but the history, which its owner adds. The result points into `trainer` and `state`.
[[nodiscard]] CheckpointState full_state(const Quiesced& quiet, Trainer& trainer, RunState& state);
/// Returns a line about the weights that a start without masters rounds while it reads them from `saved`,
/// whose run stored them in another type; "" where none is rounded. The sizes in `options.model` are set.
[[nodiscard]] std::string describe_rounding(const CheckpointReader& saved, const NetworkPlan& network);
/// Adds what evaluation, prediction and sampling read besides the parameters: how far the data were read, the
/// scaling and the range of inputs, the vocabulary.
void add_data_state(CheckpointState& state, RunState& run);

}  // namespace mylos
