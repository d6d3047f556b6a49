// StoredNetwork: what a checkpoint or a model file says of a network and of its training samples.
//
// It has no weights yet, and no data: an InferenceModel reads the weights, an OpenedNetwork has data too.
// Sizes that the run's deck left to its data follow from the weights and from what else the file says of the
// samples, or from the data that the network is to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct StoredNetwork {
  std::string path;  // of the file
  std::int64_t step = 0;
  Options options;        // of the run's deck
  StoredData training;    // the scaling is that of samples of input_shape
  SampleMeaning samples;  // the grid of the training samples, and names; empty: not known
  std::optional<ConformalCalibration> calibration;          // of a model file that `mylos calibrate` wrote
  std::optional<ConformalCalibration> rollout_calibration;  // likewise, of --rollout

  // By the sizes of the model in `options`, once they are set.
  Chain chain;
  std::vector<std::int64_t> input_shape;  // of a sample: one number, or points and channels of a grid
  std::vector<std::int64_t> output_shape;

  /// The tokens that there are; 0 where the network reads none.
  [[nodiscard]] std::int64_t known_classes() const {
    return training.vocabulary ? training.vocabulary->size() : 0;
  }
};

enum class NetworkKinds { numbers, tokens, numbers_and_tokens };

/// All ranks. Reads all of it. Throws Error (bad_input) on all ranks for networks of other kinds, and where
/// the parts of the file do not fit each other. `custom`: the layers of the program.
[[nodiscard]] StoredNetwork read_stored_network(const CheckpointReader& reader,
                                                NetworkKinds kinds = NetworkKinds::numbers,
                                                const CustomLayers& custom = {});
/// All ranks. Reads it without the sizes that the deck left to its data, and so without chain and shapes.
[[nodiscard]] StoredNetwork read_unsized_network(const CheckpointReader& reader,
                                                 const CustomLayers& custom = {});

// For this process alone:

/// Sets sizes by the file, then the chain.
void complete_by_file(const CheckpointReader& reader, StoredNetwork& network);
/// Sets the number of tokens that the deck left to the vocabulary. Throws Error (damaged) if the network has
/// fewer than the vocabulary.
void complete_vocabulary(StoredNetwork& network);
/// Makes the chain of the model, whose sizes are set, and sets the shapes. Throws Error (damaged) if what the
/// file says of its samples does not fit them.
void set_chain(StoredNetwork& network);
/// Sets the shapes of samples by the chain.
void set_shapes(StoredNetwork& network);

/// Returns the count of numbers in a sample of this shape; 1 for none. Throws Error (bad_input), with `what`,
/// if they are too many.
[[nodiscard]] std::int64_t size_of_shape(const std::vector<std::int64_t>& shape, const char* what);
/// Returns how many inputs a sample of a vector network has, as far as the file says it.
[[nodiscard]] std::int64_t stored_inputs(const CheckpointReader& reader, const StoredNetwork& network);
/// Returns the targets that the last layer's weights compute; 0 if its kind determines them. Throws Error
/// (bad_input) if they are no matrix, or the loss needs several outputs for each target, which these are not.
[[nodiscard]] std::int64_t stored_outputs(const CheckpointReader& reader, const ModelOptions& model);

}  // namespace mylos
