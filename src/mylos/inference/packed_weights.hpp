// PackedWeights: the weights of linear layers once more, in the order in which the GEMM engine reads them.
//
// To pack them takes a GEMM of few rows longer than to multiply by them. They are packed for small networks
// only: the weights of others come from memory in any order.
#pragma once

#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/network/forward_pass.hpp"

namespace mylos {

class PackedWeights {
 public:
  /// Allocates memory_bytes(). `weights` must outlive the object; pack() packs them.
  PackedWeights(const Chain& chain, const Engines& engines, const ForwardPass::StageWeights& weights);
  /// Returns 0 for a network whose weights are not packed.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain, const Engines& engines);

  /// Packs the weights as they are now.
  void pack(const Execution& exec, GemmEngine& gemm) const;
  /// Returns the weights with their packed form, "packed" beside "weight", where there is one.
  [[nodiscard]] const ForwardPass::StageWeights& of_stages() const { return spans_; }

 private:
  struct Entry {
    GemmProblem problem;
    Tensor weight;
    void* packed;
  };

  Arena arena_;
  std::vector<Entry> entries_;
  std::vector<std::vector<NamedTensor>> stages_;
  ForwardPass::StageWeights spans_;
};

}  // namespace mylos
