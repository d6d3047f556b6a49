// StoredNetwork: what a checkpoint says of a network of vectors or grids, without the data that it was
// trained on.
//
// Sizes that the run's deck left to its data follow from the weights and from what else the file says of the
// samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct StoredNetwork {
  std::string path;  // of the file
  std::int64_t step = 0;
  Options options;  // of the run; the sizes of the model are set
  Chain chain;
  Normalizer normalizer;
  std::vector<std::int64_t> input_shape;  // of a sample: one number, or points and channels of a grid
  std::vector<std::int64_t> output_shape;
  std::vector<std::string> input_names;  // of columns, or of a grid's channels; empty: not known
  std::vector<std::string> target_names;
  std::vector<std::string> class_names;
};

/// Reads all of it. Throws Error (bad_input) for a network of tokens, and where the parts of the file do not
/// fit each other.
[[nodiscard]] StoredNetwork read_stored_network(const CheckpointReader& reader);

}  // namespace mylos
