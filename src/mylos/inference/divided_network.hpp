// DividedNetwork: the network of a rank's box of each sample, where several ranks share samples.
//
// A stored network knows nothing of boxes: it is that of whole samples, whatever part of them a rank
// computes.
#pragma once

#include <string>
#include <vector>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/stored/stored_network.hpp"

namespace mylos {

struct DividedNetwork {
  Mesh mesh;
  Chain chain;

  /// Returns the points of this rank's box.
  [[nodiscard]] GridBox box(const StoredNetwork& whole) const;
};

/// Returns whether the outputs of samples that boxes divide are a vector: all ranks of a sample have it
/// whole.
[[nodiscard]] bool gives_vector(const StoredNetwork& network);

/// Returns whether there are several boxes.
[[nodiscard]] bool divides(const MeshOptions& mesh);

/// For this process alone. Returns the network of this rank's box, of `network`, whose sizes are set. Without
/// `computes_loss` its loss stands for one of whole samples, which boxes do not have. Throws Error
/// (bad_input) that names --space where samples, network or ranks cannot be divided so.
[[nodiscard]] DividedNetwork divide_network(const StoredNetwork& network, const MeshOptions& mesh,
                                            const RankGroup& ranks, bool computes_loss);

/// Returns the extents of the grid of the network's samples; empty: they are vectors.
[[nodiscard]] std::vector<std::int64_t> extents_of_samples(const StoredNetwork& network);
/// Returns the box of a part of the network's samples, on whose points its outputs lie unless they are a
/// vector.
[[nodiscard]] GridBox box_of_samples(const StoredNetwork& network, const GridPart& part);
/// Returns the normalizer of a part of the network's samples.
[[nodiscard]] Normalizer normalizer_of(const StoredNetwork& network, const GridPart& part);

/// Returns "--space 2,2".
[[nodiscard]] std::string text_of_space(const MeshOptions& mesh);

}  // namespace mylos
