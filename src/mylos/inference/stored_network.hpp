// StoredNetwork: what a checkpoint or a model file says of a network, without any data.
//
// The deck of a run may leave sizes to the data. Here they come from the file: from the shapes of weights,
// the grid of the samples and the vocabulary. InferenceModel::read() reads the weights and statistics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct StoredNetwork {
  std::string path;  // of the file
  std::int64_t step = 0;
  Options options;                 // of the deck; options.model has all sizes
  StoredData data;                 // scaling, range of the inputs, vocabulary, identity of the training data
  Chain chain;                     // makes the network of `options`
  std::vector<std::int64_t> grid;  // of a sample: 1 to 3 extents, then channels; empty if none is stored
  // Of each class, input and target column (of each channel of a grid); empty if the training data had none.
  std::vector<std::string> class_names;
  std::vector<std::string> input_names;
  std::vector<std::string> target_names;
};

/// All ranks. Throws Error (bad_input) on all ranks if the file contradicts itself, or does not state a size.
[[nodiscard]] StoredNetwork read_stored_network(const CheckpointReader& reader);

/// Returns one of the dimensions of a layer's weights, [outputs, inputs]. Throws Error (bad_input) if they
/// are no matrix.
[[nodiscard]] std::int64_t layer_width(const CheckpointReader& reader, const std::string& layer,
                                       std::size_t dimension);
/// Returns the names that the file has at this path, one per line; none if it has none.
[[nodiscard]] std::vector<std::string> stored_names(const CheckpointReader& reader, const std::string& path);

}  // namespace mylos
