// ComputeWeights: the weights that a network computes with, each in the type of its layer, and nothing else.
//
// There are no masters, gradients or moments. A parameter that the head borrows in another type is held in
// both types. A checkpoint holds floats: they are rounded to nearest while they are read, in pieces of a few
// MiB, as the training model rounds its masters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/model/network/forward_pass.hpp"
#include "mylos/model/parameters/parameter_store.hpp"

namespace mylos {

class ComputeWeights {
 public:
  /// Allocates memory_bytes(). All weights are 0.
  explicit ComputeWeights(const Chain& chain);
  /// Returns the bytes of the weights of such a chain.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain);

  [[nodiscard]] const ForwardPass::StageWeights& of_stages() const { return spans_; }
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }

  /// Returns where the arrays of a checkpoint go: those of /model, or of /average.
  [[nodiscard]] CheckpointState state(bool average) const;
  /// Copies the compute weights of a training model of the same chain. Throws Error where the chains differ.
  void copy(const Execution& exec, const ParameterStore& from) const;

 private:
  /// A parameter in one of the types that it is read in.
  struct Weight {
    std::string path;  // "hidden1/weight"
    std::vector<std::int64_t> dims;
    Tensor values;
  };

  ComputeWeights() = default;
  /// Places the weights in `pieces`. Returns their bytes.
  std::size_t place(const Chain& chain, Pieces pieces);

  Arena arena_;
  std::vector<Weight> weights_;                   // stage by stage
  std::vector<std::vector<NamedTensor>> stages_;  // the same by the names that blocks know
  ForwardPass::StageWeights spans_;
};

}  // namespace mylos
