// What a checkpoint holds of a network and of the data that it was trained on.
//
//   /model/<layer>/<parameter>           master weights; without masters the weights, as floats all the same
//   /average/<layer>/<parameter>         the moving average of the weights, where the run has one
//   /buffers/<layer>/<name>              statistics of normalisation layers
//   /data/{position, epoch, identity}    samples consumed; which data
//   /data/normalization/{inputs,targets}/{shift,scale}
//   /input_range/{min,max}               of the training samples, of each input or each channel of a grid
//   /vocabulary/{kind,size,characters}   what tokens stand for
//   /samples/{grid,axes,level_step,masks,class_names,input_names,target_names}
//                                        what samples are, where the training data say it
//   /loss/weights                        the weight of each point of a field, of mean 1, if they differ
//   /loss/weights_of_numbers             likewise of each number of the outputs
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/data/files/meaning/vocabulary.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/parameters/parameter_store.hpp"

namespace mylos {

/// Returns the path of a parameter ("hidden1/weight"), or of its average.
[[nodiscard]] std::string parameter_path(const std::string& parameter, bool average = false);
/// Returns the dimensions that a parameter has in the file.
[[nodiscard]] std::vector<std::int64_t> stored_dims(const ParameterSpec& spec);
/// Adds what a rank holds of a parameter's masters, or of a moment of them.
void add_local(CheckpointState& state, const ParameterLayout& layout, const std::string& path,
               const HeldPart& part, std::vector<std::int64_t> dims);
/// Returns all parameters, or their averages. `part_of` returns what this rank holds of a slot.
[[nodiscard]] CheckpointState local_parameters(const ParameterLayout& layout, bool average,
                                               const std::function<HeldPart(std::size_t slot)>& part_of);
/// Returns the parameters of a training model, or where their average is to be read.
[[nodiscard]] CheckpointState parameter_state(const ParameterStore& parameters, bool average = false);
/// Returns paths and shapes without memory, to compare them with those of a file.
[[nodiscard]] CheckpointState parameter_shapes(const ParameterLayout& layout);
/// Adds the statistics of normalisation layers.
void add_buffers(CheckpointState& state, const BufferStore& buffers);
/// Returns whether a checkpoint has the moving average of its weights.
[[nodiscard]] bool has_average(const CheckpointReader& reader);

/// Returns the options of the run's deck. Throws Error (bad_input).
[[nodiscard]] Options stored_options(const CheckpointReader& reader);

/// What a file says of the data that a network was trained on.
struct StoredData {
  std::int64_t position = 0;             // samples consumed
  std::int64_t epoch = 0;                // complete passes over the training data
  std::string identity;                  // which data
  Normalizer normalizer;                 // how inputs and targets were scaled, and the range of the inputs
  std::optional<Vocabulary> vocabulary;  // of a network of tokens
  std::int64_t vocabulary_size = 0;      // as the file has it
};

/// Adds it. The state points into `data`.
void add_stored_data(CheckpointState& state, StoredData& data);
/// All ranks. Reads all of it.
[[nodiscard]] StoredData read_stored_data(const CheckpointReader& reader);
/// Adds what later data must agree with, where they say it: the grid, names of classes and columns. A resumed
/// run does not read it: it comes from the data again.
void add_samples(CheckpointState& state, const std::vector<std::int64_t>& grid, const SampleMeaning& meaning);
/// Returns the grid and the names that the file has; those that it lacks are empty. Throws Error (bad_input)
/// if the grid is none.
[[nodiscard]] SampleMeaning stored_samples(const CheckpointReader& reader);
/// Adds the weights of points in the loss, if there are any. The state points into `weights`.
void add_point_weights(CheckpointState& state, PointWeights& weights);
/// All ranks. Reads the weights of points in the loss; null: all points count alike.
[[nodiscard]] std::shared_ptr<const PointWeights> stored_point_weights(const CheckpointReader& reader);

}  // namespace mylos
