// ParameterStore: the flat arenas of master weights, compute weights and gradients of a rank, cut as a
// ParameterLayout says.
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
  /// Of every bucket, whose masters this rank holds.
  [[nodiscard]] const std::vector<BucketSlice>& held_slices() const { return held_; }
  [[nodiscard]] std::span<const NamedTensor> weights(std::size_t block) const { return weights_[block]; }
  [[nodiscard]] std::span<const NamedTensor> gradients(std::size_t block) const { return gradients_[block]; }
  /// What updates move: floats, or where no masters are kept the weights that are read. Throws Error where
  /// they are cut over ranks.
  [[nodiscard]] Tensor master(const ParameterSlot& slot) const;
  /// Of layout().slots[slot].
  [[nodiscard]] HeldPart held_master(std::size_t slot) const;
  [[nodiscard]] Tensor compute_weight(const ParameterSlot& slot) const {
    return compute_weight(slot, slot.spec.type, slot.compute_offset);
  }
  /// All compute weights of a bucket that have one type, padding included, as one row. Where masters are cut
  /// over ranks.
  [[nodiscard]] Tensor compute_weights(const GradientBucket& bucket) const;
  /// The whole arena.
  [[nodiscard]] const Arena& compute_weights() const { return compute_; }
  [[nodiscard]] Tensor gradient(const ParameterSlot& slot) const;
  /// All gradients of a bucket, padding included, as one row; where they are cut over ranks, others' too.
  [[nodiscard]] Tensor gradient(const GradientBucket& bucket) const;
  /// Those of held_slices()[bucket], padding included, as one row: where all ranks' sum of them is to be, by
  /// which the masters that it holds move.
  [[nodiscard]] Tensor held_gradients(std::size_t bucket) const;
  [[nodiscard]] std::size_t bytes() const {
    return masters_.bytes() + compute_.bytes() + gradient_arena_.bytes() + gradient_slices_.bytes();
  }

  /// Draws masters and compute weights: a pure function of seed, layer name, parameter name and element. By
  /// what the last of `rules` says that matches the parameter, else by its own distribution.
  void initialize(const Execution& exec, std::uint64_t seed, std::span<const InitialRule> rules = {});
  /// Rounds the masters that this rank holds to compute weights; where they are cut over ranks, only those
  /// that are gathered as such.
  void refresh_compute_weights(const Execution& exec);
  /// The masters that this rank holds of a bucket whose compute weights have several types: as floats into
  /// its slice of the gradients' memory.
  void put_held_masters(const Execution& exec, std::size_t bucket);
  /// Rounds the floats in the gradients' memory of a bucket whose compute weights have several types.
  void take_gathered(const Execution& exec, std::size_t bucket);

 private:
  /// Where there are no masters: the compute weights that updates move.
  [[nodiscard]] Tensor moved_weight(const ParameterSlot& slot) const;
  /// Masters of held_slices()[bucket], padding included, as one row. Where there are masters.
  [[nodiscard]] Tensor held_masters(std::size_t bucket) const;
  [[nodiscard]] Tensor compute_weight(const ParameterSlot& slot, DType type,
                                      std::optional<std::size_t> offset) const;
  /// What the head reads of a parameter in another type than the block that has it; empty where there is
  /// none but masters.
  [[nodiscard]] Tensor borrowed_copy() const;

  ParameterLayout layout_;
  std::vector<BucketSlice> held_;
  std::vector<ParameterPart> held_parts_;  // of each slot; offsets are those in its bucket's slice
  Arena masters_;
  Arena compute_;
  Arena gradient_arena_;
  Arena gradient_slices_;                            // where gradients are cut over ranks
  std::vector<std::vector<NamedTensor>> weights_;    // compute weights of each block
  std::vector<std::vector<NamedTensor>> gradients_;  // of each block
};

}  // namespace mylos
