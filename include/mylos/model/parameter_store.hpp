// ParameterStore: the flat arenas of master weights, compute weights and gradients, cut as a ParameterLayout
// says.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/arena.hpp"
#include "mylos/model/parameter_layout.hpp"

namespace mylos {

class ParameterStore {
 public:
  explicit ParameterStore(ParameterLayout layout);

  [[nodiscard]] const ParameterLayout& layout() const { return layout_; }
  [[nodiscard]] std::span<const NamedTensor> weights(std::size_t block) const { return weights_[block]; }
  [[nodiscard]] std::span<const NamedTensor> gradients(std::size_t block) const { return gradients_[block]; }
  [[nodiscard]] Tensor master(const ParameterSlot& slot) const;
  [[nodiscard]] Tensor compute_weight(const ParameterSlot& slot) const {
    return compute_weight(slot, slot.compute_offset);
  }
  [[nodiscard]] Tensor gradient(const ParameterSlot& slot) const;
  /// All gradients of a bucket, padding included, as one row.
  [[nodiscard]] Tensor gradient(const GradientBucket& bucket) const;
  [[nodiscard]] std::size_t bytes() const {
    return masters_.bytes() + compute_.bytes() + gradient_arena_.bytes();
  }

  /// Draws the masters: a pure function of seed, layer name, parameter name and element.
  void initialize(const Execution& exec, std::uint64_t seed);
  /// Rounds every master to its compute weight.
  void refresh_compute_weights(const Execution& exec);
  /// What a rank without samples brings to a step: zeros, padding included.
  void clear_gradients(const Execution& exec);

 private:
  [[nodiscard]] Tensor compute_weight(const ParameterSlot& slot, std::optional<std::size_t> offset) const;

  ParameterLayout layout_;
  Arena masters_;
  Arena compute_;
  Arena gradient_arena_;
  std::vector<std::vector<NamedTensor>> weights_;    // compute weights of each block
  std::vector<std::vector<NamedTensor>> gradients_;  // of each block
};

}  // namespace mylos
