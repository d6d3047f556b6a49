// One kernel that updates many parameters: launching one for each would cost small networks more than their
// arithmetic.
#pragma once

#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/optim/options.hpp"
#include "mylos/optim/update/parameter_health.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/optim/update/trust_ratios.hpp"

namespace mylos {

/// A parameter in each of the arenas.
struct UpdateSpan {
  std::int32_t first_block = 0;  // of the pass; set by UpdatePass
  std::int32_t slot = 0;         // of the parameter in the layout
  float lr_factor = 1;
  std::int64_t count = 0;  // elements
  const void* gradient = nullptr;
  float* master = nullptr;  // null where there is none
  float* m = nullptr;
  float* v = nullptr;            // null for sgd and lion
  const float* trust = nullptr;  // lamb: the ratio of norms by which the learning rate is multiplied
  void* weight = nullptr;    // the compute weights; floats: the masters, and nothing is written beside them
  float* average = nullptr;  // of the masters; null where there is none
  float decay = 0;
  bool frozen = false;        // nothing moves
  float inverse_divisor = 1;  // of the gradients, beside the loss scale
  RandomStream rounding;      // of the parameter; where there is no master
  std::int64_t first = 0;     // element of the parameter: a multiple of slice_granularity
};

/// Of the parameters of a pass.
struct UpdateTypes {
  DType gradient = DType::fp32;
  DType weight = DType::fp32;
  bool has_masters = true;  // false: 16-bit weights, which are updated themselves
};

/// Parameters that have the same types. Weights without masters are widened, which is exact, updated in float
/// and rounded stochastically (base/numbers/stochastic_rounding.hpp).
class UpdatePass {
 public:
  /// `place`: device memory for the spans, as many.
  UpdatePass(const OptimizerOptions& options, const UpdateTypes& types, std::vector<UpdateSpan> spans,
             const Kokkos::View<UpdateSpan*, Device>& place);
  /// Lamb, before run(): moves the moments, and adds to the norms in `ratios`.
  void measure(const Execution& exec, const UpdateControl* control, const TrustRatios& ratios) const;
  /// With room in `health` the step that `control` wants to look at leaves its sums there.
  void run(const Execution& exec, const UpdateControl* control, const HealthRing& health) const;

  /// A thread's or team's share of a pass.
  static constexpr std::int64_t block_elements = 4096;
  /// Of any pass over parts of these parameters: each part's last block may be short.
  [[nodiscard]] static std::size_t max_blocks(const ParameterLayout& layout);

 private:
  void move_masters(const Execution& exec, const UpdateControl* control, const HealthRing& health) const;
  void move_weights(const Execution& exec, const UpdateControl* control, const HealthRing& health) const;

  OptimizerOptions options_;
  UpdateTypes types_;
  std::int64_t blocks_ = 0;
  Kokkos::View<UpdateSpan*, Device> spans_;
};

}  // namespace mylos
