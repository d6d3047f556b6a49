// StoredNetwork: what a checkpoint or a model file says of a network, without the data that it was trained
// on.
//
// Sizes that the run's deck left to its data follow from the weights and from what else the file says of the
// samples. InferenceModel::read() reads the weights and statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/data/files/vocabulary.hpp"
#include "mylos/inference/grids/other_grid.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct StoredNetwork {
  std::string path;  // of the file
  std::int64_t step = 0;
  Options options;  // of the deck; the sizes of the model are set
  Chain chain;
  Normalizer normalizer;
  std::optional<Vocabulary> vocabulary;   // of a network of tokens
  std::vector<std::int64_t> input_shape;  // of a sample: one number, or points and channels of a grid
  std::vector<std::int64_t> output_shape;
  std::vector<std::string> input_names;  // of columns, or of a grid's channels; empty: not known
  std::vector<std::string> target_names;
  std::vector<std::string> class_names;
  std::optional<ConformalCalibration> calibration;  // of a model file that `mylos calibrate` wrote
};

enum class NetworkKinds { numbers, numbers_and_tokens };

/// All ranks. Reads all of it. Throws Error (bad_input) on all ranks for a network of tokens, unless `kinds`
/// has them, and where the parts of the file do not fit each other.
[[nodiscard]] StoredNetwork read_stored_network(const CheckpointReader& reader,
                                                NetworkKinds kinds = NetworkKinds::numbers);

/// Sets sizes, chain and shapes from path, options, normalizer and vocabulary, and from the weights of the
/// file. For this process alone.
void make_stored_chain(const CheckpointReader& reader, StoredNetwork& network);

/// Makes it read samples of `shape`: the extents of a grid, then the channels; empty: those that it was
/// trained on. Throws Error as on_other_grid() does.
void move_to_grid(StoredNetwork& network, const std::vector<std::int64_t>& shape,
                  const RequireMemory& require_memory = {});

/// Returns the shape of the training samples on a grid, as the file states it; empty if it does not.
[[nodiscard]] std::vector<std::int64_t> stored_grid(const CheckpointReader& reader);
/// Returns the targets of a network whose last layer is dense and has this name. Throws Error (bad_input) as
/// layer_width(), and if the loss needs several outputs for each target, which these are not.
[[nodiscard]] std::int64_t stored_targets(const CheckpointReader& reader, const ModelOptions& model,
                                          const std::string& layer);
/// Returns one of the dimensions of a layer's weights, [outputs, inputs]. Throws Error (bad_input) if they
/// are no matrix.
[[nodiscard]] std::int64_t layer_width(const CheckpointReader& reader, const std::string& layer,
                                       std::size_t dimension);
/// Returns the names that the file has at this path, one per line; none if it has none.
[[nodiscard]] std::vector<std::string> stored_names(const CheckpointReader& reader, const std::string& path);

}  // namespace mylos
