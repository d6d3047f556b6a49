// Optimizer: the moments of the masters, and one fused pass over the flat arenas that unscales and clips the
// gradient in registers, updates masters and moments, and writes the new compute weights.
//
//   g  = gradient_factor · gradient                         (unscaled and clipped)
//   sgd:    g += decay·w; m = momentum·m + g;      w -= lr·m
//           with Nesterov's momentum: w -= lr·(g + momentum·m)  (as PyTorch's; Sutskever et al., ICML 2013)
//   adam:   g += decay·w, then as adamw without decay       (Kingma, Ba, arXiv 1412.6980)
//   adamw:  w *= 1 - lr·decay; m = b1·m + (1-b1)·g; v = b2·v + (1-b2)·g²;
//           w -= lr/c1 · m / (√v/√c2 + epsilon)             (Loshchilov, Hutter, arXiv 1711.05101)
//   lion:   w *= 1 - lr·decay; w -= lr·sign(b1·m + (1-b1)·g); m = b2·m + (1-b2)·g
//                                                           (Chen et al., arXiv 2302.06675)
//   lamb:   m, v as adamw; u = m/c1 / (√v/√c2 + epsilon) + decay·w; w -= lr·|w|/|u|·u, the norms those of a
//           parameter (trust_ratios.hpp)                    (You et al., arXiv 1904.00962, algorithm 2)
// with c1, c2 the bias corrections. lr and decay are the options' times the parameter's factors, or those of
// its group (parameter_groups.hpp). Frozen parameters keep every bit, including their moments.
//
// Lamb needs an additional pass: all of u must be known before the first weight changes. That pass updates
// the moments.
//
// With an average of decay d: average = d·average + (1-d)·w after each update, and w after the first one, as
// in PyTorch's AveragedModel (Polyak, Juditsky, SIAM J. Control Optim. 30, 1992). It is a separate pass, so
// that runs without an average have no cost.
//
// 16-bit weights without masters are updated by the same formulas in float and rounded stochastically. The
// random bits depend on seed, parameter, element and the number of updates before, and not on ranks, slices
// or threads.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/model/parameters/parameter_slices.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/optim/update/trust_ratios.hpp"
#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

class Optimizer {
 public:
  /// Creates the optimizer of the masters in `parameters`. It keeps pointers into their arenas, which must
  /// outlive it.
  /// `gradient_divisors[b]`: by what bucket b's gradients must still be divided, in addition to the loss
  /// scale. `by_bucket`: buckets can be updated individually, with one pass over memory per bucket.
  /// `health_records`: number of steps whose parameter health is stored. `seed`: of the random numbers that
  /// round weights without masters.
  Optimizer(const OptimizerOptions& options, const ParameterStore& parameters,
            std::span<const float> gradient_divisors, bool by_bucket = false, std::int64_t health_records = 0,
            std::uint64_t seed = 0);

  /// Returns the moments' names in a checkpoint: "m", and "v" for Adam, AdamW and Lamb.
  [[nodiscard]] const std::vector<std::string_view>& moment_names() const { return names_; }
  [[nodiscard]] static std::vector<std::string_view> moment_names_of(OptimizerType type);
  /// Returns whether optimizer `b` can continue with the moments of `a`.
  [[nodiscard]] static bool share_moments(OptimizerType a, OptimizerType b);
  /// Returns the number of float arrays of the weights' size: the moments, and the average if enabled.
  [[nodiscard]] static std::size_t array_count(const OptimizerOptions& options);
  /// Returns this rank's part of a moment of layout.slots[slot].
  [[nodiscard]] HeldPart moment(std::size_t index, std::size_t slot) const {
    return local_part(moments_[index], slot);
  }
  /// Returns whether there is an exponential moving average of the masters.
  [[nodiscard]] bool averages() const { return average_.bytes() > 0; }
  /// Returns this rank's part of the average of layout.slots[slot]. Requires averages().
  [[nodiscard]] HeldPart average(std::size_t slot) const { return local_part(average_, slot); }
  /// Copies the masters of `parameters` to the average, if there is one.
  void begin_average(const Execution& exec, const ParameterStore& parameters) const;
  [[nodiscard]] std::size_t bytes() const;
  /// Returns the bytes of the moments and the average.
  [[nodiscard]] static std::size_t memory_bytes(const OptimizerOptions& options,
                                                const ParameterLayout& layout);
  [[nodiscard]] static PartMemory memory(const OptimizerOptions& options, const ParameterLayout& layout);
  /// Returns the bytes of the lists of parameters: enough for all parameters, independent of this rank's
  /// slices.
  [[nodiscard]] static std::size_t list_bytes(const OptimizerOptions& options, const ParameterLayout& layout);
  /// Returns the bytes that ranks exchange between measure() and divide().
  [[nodiscard]] static std::size_t exchanged_bytes(const OptimizerOptions& options,
                                                   const ParameterLayout& layout);

  /// Returns the health records of the last steps.
  [[nodiscard]] const HealthRing& health() const { return health_; }

  /// Called before the update of any bucket if masters are sharded. Returns the buffer that all ranks sum
  /// before divide(); it is empty if the optimizer needs none. Only moments change.
  [[nodiscard]] CommunicationBuffer measure(const Execution& exec, const UpdateControl* control) const;
  void divide(const Execution& exec) const;
  /// Updates all parameters, unless control->apply is 0. `control` is device memory.
  void update(const Execution& exec, const UpdateControl* control) const;
  /// Does the same for this rank's part of one bucket. Throws Error if the optimizer was created without
  /// `by_bucket`.
  void update(const Execution& exec, const UpdateControl* control, std::size_t bucket) const;

 private:
  [[nodiscard]] HeldPart local_part(const Arena& arena, std::size_t slot) const;
  /// Computes the trust ratios of a group if this rank has the norms of complete parameters.
  void set_ratios(const Execution& exec, const UpdateControl* control, std::size_t group) const;

  struct GroupPass {
    std::size_t group;  // a bucket, or 0 if all buckets form one group
    UpdatePass pass;
  };
  std::vector<std::string_view> names_;
  std::vector<Arena> moments_;        // slices one after the other
  Arena average_;                     // likewise
  std::vector<ParameterPart> parts_;  // the updated part of each slot; offsets are those in the moments
  bool by_bucket_;
  bool is_sharded_;  // over ranks
  std::vector<SlotRange> slots_of_group_;
  std::optional<TrustRatios> trust_;  // of Lamb
  HealthRing health_;
  DeviceArray<UpdateSpan> spans_;  // of all passes
  std::vector<GroupPass> passes_;  // in each group one per pair of gradient and compute weight types
};

}  // namespace mylos
