// ParameterStore: the flat arenas of a rank's master weights, compute weights and gradients, with the offsets
// of a ParameterLayout.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/model/parameters/parameter_slices.hpp"

namespace mylos {

class ParameterStore {
 public:
  explicit ParameterStore(ParameterLayout layout, int rank = 0);

  [[nodiscard]] const ParameterLayout& layout() const { return layout_; }
  /// Returns the part of every bucket whose masters this rank holds.
  [[nodiscard]] const std::vector<BucketSlice>& held_slices() const { return held_; }
  [[nodiscard]] std::span<const NamedTensor> weights(std::size_t block) const { return weights_[block]; }
  [[nodiscard]] std::span<const NamedTensor> gradients(std::size_t block) const { return gradients_[block]; }
  /// Returns the tensor that updates change: floats, or without masters the weights that blocks read. Throws
  /// Error if masters are sharded.
  [[nodiscard]] Tensor master(const ParameterSlot& slot) const;
  /// Returns the part of layout().slots[slot] that this rank holds.
  [[nodiscard]] HeldPart held_master(std::size_t slot) const;
  [[nodiscard]] Tensor compute_weight(const ParameterSlot& slot) const {
    return compute_weight(slot, slot.spec.type, slot.compute_offset);
  }
  /// Returns all compute weights of a bucket whose weights have one type, padding included, as one row. For
  /// sharded masters only.
  [[nodiscard]] Tensor compute_weights(const GradientBucket& bucket) const;
  /// Returns the complete arena.
  [[nodiscard]] const Arena& compute_weights() const { return compute_; }
  [[nodiscard]] Tensor gradient(const ParameterSlot& slot) const;
  /// Returns all gradients of a bucket, padding included, as one row; if gradients are sharded, other buckets
  /// share this memory.
  [[nodiscard]] Tensor gradient(const GradientBucket& bucket) const;
  /// Returns the gradients of held_slices()[bucket], padding included, as one row: the destination of their
  /// sum over all ranks, by which the held masters are updated.
  [[nodiscard]] Tensor held_gradients(std::size_t bucket) const;
  [[nodiscard]] std::size_t bytes() const {
    return masters_.bytes() + compute_.bytes() + gradient_arena_.bytes() + gradient_slices_.bytes();
  }

  /// Draws masters and compute weights: a pure function of seed, layer name, parameter name and element. The
  /// last of `rules` that matches the parameter sets its distribution; without a match its default applies.
  void initialize(const Execution& exec, std::uint64_t seed, std::span<const InitialRule> rules = {});
  /// Rounds the masters that this rank holds to compute weights; if masters are sharded, only those that are
  /// gathered in their compute type.
  void refresh_compute_weights(const Execution& exec);
  /// Copies the masters that this rank holds of a bucket whose compute weights have several types, as floats,
  /// into the rank's slice of the gradients' memory.
  void put_held_masters(const Execution& exec, std::size_t bucket);
  /// Rounds the gathered floats in the gradients' memory to a bucket's compute weights of several types.
  void take_gathered(const Execution& exec, std::size_t bucket);

 private:
  /// Returns the compute weights that updates change; without masters only.
  [[nodiscard]] Tensor updated_weight(const ParameterSlot& slot) const;
  /// Returns the masters of held_slices()[bucket], padding included, as one row; with masters only.
  [[nodiscard]] Tensor held_masters(std::size_t bucket) const;
  [[nodiscard]] Tensor compute_weight(const ParameterSlot& slot, DType type,
                                      std::optional<std::size_t> offset) const;
  /// Returns the copy of a parameter that the head reads in another type than its block; empty if there is
  /// none apart from the masters.
  [[nodiscard]] Tensor borrowed_copy() const;

  ParameterLayout layout_;
  std::vector<BucketSlice> held_;
  std::vector<ParameterPart> held_parts_;  // of each slot; offsets are relative to the slice of its bucket
  Arena masters_;
  Arena compute_;
  Arena gradient_arena_;
  Arena gradient_slices_;                            // for sharded gradients
  std::vector<std::vector<NamedTensor>> weights_;    // compute weights of each block
  std::vector<std::vector<NamedTensor>> gradients_;  // of each block
};

}  // namespace mylos
