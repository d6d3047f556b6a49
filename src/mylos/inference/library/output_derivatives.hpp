// OutputDerivatives: derivatives of a model's outputs with respect to its inputs. J are those
// derivatives at x, both in `units`. Arrays lie in the host's or the device's memory.
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/model.hpp"

namespace mylos {

/// Samples [first, first + count) of x and of what its derivatives are multiplied by. Results are written
/// from sample `to` on.
struct SampleSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t to = 0;
};

class OutputDerivatives {
 public:
  virtual ~OutputDerivatives() = default;

  /// Computes dx = J^T dy.
  virtual void vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy,
                   const ArraySamples& dx, const SampleSpan& range, Units units) = 0;
  /// Computes dy = J dx.
  virtual void jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx,
                   const ArraySamples& dy, const SampleSpan& range, Units units) = 0;
  /// Computes J [outputs, inputs].
  virtual void jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to,
                        const SampleSpan& range, Units units) = 0;
};

}  // namespace mylos
