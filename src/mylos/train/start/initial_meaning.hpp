// What a file of initial weights says of the network that they were trained in, against the network that is
// to begin with them. Weights of the same names and shapes mean something else after another activation,
// under another stride, with other heads, or of inputs that were normalised otherwise.
//
// Compared are the decks, as far as the layers reach whose weights are taken: of an mlp model.activation and
// model.norm, of a gpt its heads, positions, norms and feed-forward layers; of a chain (and of the short
// forms, which stand for one) each such layer, and what lies between two of them without weights, by keys
// like model.layers.conv1.activation. Where the first or the last layer with weights is taken, data.normalize
// too, and data.shape where a dense layer reads the grid. Dropout, loss, initial values and precision are
// not.
#pragma once

#include <string>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/config/deck/difference.hpp"

namespace mylos {

/// A layer some of whose weights are taken, by the names of its block here and in the file.
struct TakenLayer {
  std::string here;
  std::string in_file;

  bool operator==(const TakenLayer&) const = default;
};

/// Whether the first and the last layer with weights are taken: those that read the inputs and compute the
/// outputs.
struct TakenEnds {
  bool first = false;
  bool last = false;
};

[[nodiscard]] TakenEnds taken_ends(const ModelOptions& here, const std::vector<TakenLayer>& layers);

/// In what `here` computes otherwise than the network `file`, whose samples lay on `file_grid` (empty where
/// that is not known); `before` is the file's.
[[nodiscard]] std::vector<KeyDifference> differing_networks(const Options& file,
                                                            const std::vector<std::int64_t>& file_grid,
                                                            const Options& here,
                                                            const std::vector<TakenLayer>& layers);

/// Throws Error (bad_input) for differences whose key no pattern of `ignore` matches, and for a pattern that
/// matches none. `path`: of the file. Returns those that are ignored.
std::vector<KeyDifference> require_same_network(const std::vector<KeyDifference>& differences,
                                                const std::vector<std::string>& ignore,
                                                const std::string& path, const Places& places);

}  // namespace mylos
