// One kernel that updates many parameters: one launch per parameter would cost small networks more than their
// arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/optim/options.hpp"
#include "mylos/optim/update/health_ring.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/optim/update/trust_ratios.hpp"

namespace mylos {

/// A parameter's elements in each of the arenas.
struct UpdateSpan {
  std::int32_t first_block = 0;  // of the pass; set by UpdatePass
  std::int32_t slot = 0;         // of the parameter in the layout
  float lr_factor = 1;
  std::int64_t count = 0;  // elements
  const void* gradient = nullptr;
  float* master = nullptr;  // null if there is none
  float* m = nullptr;
  float* v = nullptr;            // null for sgd and lion
  const float* trust = nullptr;  // lamb: the ratio of norms by which the learning rate is multiplied
  void* weight = nullptr;        // the compute weights; float weights: the masters
  float* average = nullptr;      // average of the masters; null if there is none
  float decay = 0;
  bool frozen = false;        // no update
  float inverse_divisor = 1;  // of the gradients, in addition to the loss scale
  RandomStream rounding;      // random stream of the parameter; used without masters
  std::int64_t first = 0;     // first element in the parameter: a multiple of slice_granularity
};

/// Types of the parameters of a pass.
struct UpdateTypes {
  DType gradient = DType::fp32;
  DType weight = DType::fp32;
  bool has_masters = true;  // false: 16-bit weights are updated directly
};

/// A pass over parameters of the same types. Weights without masters are widened, which is exact, updated in
/// float and rounded stochastically (base/numbers/stochastic_rounding.hpp).
class UpdatePass {
 public:
  /// `memory`: device memory of the same number of spans.
  UpdatePass(const OptimizerOptions& options, const UpdateTypes& types, std::vector<UpdateSpan> spans,
             std::span<UpdateSpan> memory);
  /// Called before run() by Lamb: updates the moments, and adds to the norms in `ratios`.
  void measure(const Execution& exec, const UpdateControl* control, const TrustRatios& ratios) const;
  /// Updates the parameters. If `health` has records and `control` selects this step, stores its sums there.
  void run(const Execution& exec, const UpdateControl* control, const HealthRing& health) const;

  /// Elements per thread or team.
  static constexpr std::int64_t block_elements = 4096;
  /// Returns the maximum number of blocks of any pass over parts of these parameters: each part's last block
  /// may be short.
  [[nodiscard]] static std::size_t max_blocks(const ParameterLayout& layout);

 private:
  void update_masters(const Execution& exec, const UpdateControl* control, const HealthRing& health) const;
  void update_rounded_weights(const Execution& exec, const UpdateControl* control,
                              const HealthRing& health) const;

  OptimizerOptions options_;
  UpdateTypes types_;
  std::int64_t blocks_ = 0;
  std::span<UpdateSpan> spans_;  // device memory
};

}  // namespace mylos
