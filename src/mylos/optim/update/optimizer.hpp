// Optimizer: moments of the masters, and the one fused pass over the flat arenas that unscales and clips the
// gradient in registers, moves masters and moments, and writes the new compute weights.
//
//   g  = gradient_factor · gradient                         (unscaled and clipped)
//   sgd:    g += decay·w; m = momentum·m + g;      w -= lr·m; with Nesterov's momentum w -= lr·(g +
//   momentum·m)
//                                                           (as PyTorch's; Sutskever et al., ICML 2013)
//   adam:   g += decay·w, then as adamw without decay       (Kingma, Ba, arXiv 1412.6980)
//   adamw:  w *= 1 - lr·decay; m = b1·m + (1-b1)·g; v = b2·v + (1-b2)·g²;
//           w -= lr/c1 · m / (√v/√c2 + epsilon)             (Loshchilov, Hutter, arXiv 1711.05101)
//   lion:   w *= 1 - lr·decay; w -= lr·sign(b1·m + (1-b1)·g); m = b2·m + (1-b2)·g
//                                                           (Chen et al., arXiv 2302.06675)
//   lamb:   m, v as adamw; u = m/c1 / (√v/√c2 + epsilon) + decay·w; w -= lr·|w|/|u|·u, the norms those of a
//           parameter (trust_ratios.hpp)                    (You et al., arXiv 1904.00962, algorithm 2)
// with c1, c2 the bias corrections; lr and decay are the options' times the parameter's own factors, or what
// its group says (parameter_groups.hpp). What is frozen keeps every bit, moments too.
//
// Lamb takes a pass before: all of u is known before the first weight moves. Its moments move there.
//
// With an average of decay d: average = d·average + (1-d)·w behind each update, and w behind the first one,
// as PyTorch's AveragedModel has it (Polyak, Juditsky, SIAM J. Control Optim. 30, 1992). A pass of its own,
// so that runs without one pay nothing.
//
// 16-bit weights without masters are moved by the same formulas in float, and rounded stochastically. The
// random bits depend on seed, parameter, element and the number of updates before: neither on ranks, slices
// nor threads.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mylos/model/parameters/parameter_slices.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/optim/update/trust_ratios.hpp"
#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

class Optimizer {
 public:
  /// Updates the masters that `parameters` holds. Keeps pointers into its arenas, which must outlive it.
  /// `gradient_divisors[b]`: by what bucket b's gradients are still to be divided beside the loss scale.
  /// `by_bucket`: buckets may be updated one by one, which is as many passes over memory.
  /// `health_records`: for how many steps there is room to tell of the parameters' health.
  /// `seed`: of the random numbers that round weights without masters.
  Optimizer(const OptimizerOptions& options, const ParameterStore& parameters,
            std::span<const float> gradient_divisors, bool by_bucket = false, std::int64_t health_records = 0,
            std::uint64_t seed = 0);

  /// "m", and "v" for Adam, AdamW and Lamb: the moments' names in a checkpoint.
  [[nodiscard]] const std::vector<std::string_view>& moment_names() const { return names_; }
  [[nodiscard]] static std::vector<std::string_view> moment_names_of(OptimizerType type);
  /// Whether one can go on with the moments of the other.
  [[nodiscard]] static bool share_moments(OptimizerType a, OptimizerType b);
  /// Arrays of as many floats as there are weights: the moments, and the average where there is one.
  [[nodiscard]] static std::size_t array_count(const OptimizerOptions& options);
  /// Of layout.slots[slot].
  [[nodiscard]] HeldPart moment(std::size_t index, std::size_t slot) const {
    return held(moments_[index], slot);
  }
  /// Whether there is an exponential moving average of the masters.
  [[nodiscard]] bool averages() const { return average_.bytes() > 0; }
  /// Of layout.slots[slot]; where there is one.
  [[nodiscard]] HeldPart average(std::size_t slot) const { return held(average_, slot); }
  /// The average becomes the masters that `parameters` holds; nothing where there is none.
  void begin_average(const Execution& exec, const ParameterStore& parameters) const;
  [[nodiscard]] std::size_t bytes() const;
  /// What the moments of such an optimizer take, and the average.
  [[nodiscard]] static std::size_t memory_bytes(const OptimizerOptions& options,
                                                const ParameterLayout& layout);
  /// What its lists of parameters take: room for all of them, however many a rank's slices hold.
  [[nodiscard]] static std::size_t list_bytes(const OptimizerOptions& options, const ParameterLayout& layout);
  /// What ranks exchange between measure() and divide().
  [[nodiscard]] static std::size_t exchanged_bytes(const OptimizerOptions& options,
                                                   const ParameterLayout& layout);

  /// What the updates of the last steps left there.
  [[nodiscard]] const HealthRing& health() const { return health_; }

  /// Where masters are cut over ranks, before the update of any bucket: what all ranks are to add up before
  /// divide(). Empty where the optimizer takes nothing of the kind. Moves nothing but moments.
  [[nodiscard]] CommunicationBuffer measure(const Execution& exec, const UpdateControl* control) const;
  void divide(const Execution& exec) const;
  /// Moves nothing where control->apply is 0. `control` is device memory.
  void update(const Execution& exec, const UpdateControl* control) const;
  /// The same for what is held of one bucket. Throws Error where the optimizer was not made for that.
  void update(const Execution& exec, const UpdateControl* control, std::size_t bucket) const;

 private:
  [[nodiscard]] HeldPart held(const Arena& arena, std::size_t slot) const;
  /// Where the norms of whole parameters are at hand, of a group's.
  void set_ratios(const Execution& exec, const UpdateControl* control, std::size_t group) const;

  struct GroupPass {
    std::size_t group;  // a bucket, or all together are one group
    UpdatePass pass;
  };
  std::vector<std::string_view> names_;
  std::vector<Arena> moments_;        // slice behind slice
  Arena average_;                     // likewise
  std::vector<ParameterPart> parts_;  // of each slot what is updated; offsets are those in the moments
  bool by_bucket_;
  bool is_sharded_;  // over ranks
  std::vector<SlotRange> slots_of_group_;
  std::optional<TrustRatios> trust_;  // of Lamb
  HealthRing health_;
  Kokkos::View<UpdateSpan*, Device> spans_;  // of all passes
  std::vector<GroupPass>
      passes_;  // in each group one for each pair of types of gradients and compute weights
};

}  // namespace mylos
