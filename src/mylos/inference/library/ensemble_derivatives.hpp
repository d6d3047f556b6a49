// EnsembleDerivatives: the means of the derivatives of an ensemble's members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/inference/library/host_staging.hpp"
#include "mylos/inference/library/output_derivatives.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

class EnsembleDerivatives final : public OutputDerivatives {
 public:
  /// `members`: of networks whose inputs and outputs are those of `chain`. They must outlive the object.
  EnsembleDerivatives(std::vector<OutputDerivatives*> members, const Chain& chain);
  /// Returns what one allocates.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain);

  void vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy, const ArraySamples& dx,
           const SampleSpan& span, Units units) override;
  void jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx, const ArraySamples& dy,
           const SampleSpan& span, Units units) override;
  void jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to, const SampleSpan& span,
                Units units) override;

 private:
  /// The derivatives of a piece, in float and summed.
  struct Tensors {
    Tensors(std::int64_t count, void* memory);

    Pieces pieces;
    Tensor values;
    double* sums;
  };
  /// Writes the mean of what compute(member, rows, span) writes, of `numbers` for each sample.
  template <class Compute>
  void average(const Execution& exec, std::int64_t numbers, const ArraySamples& to, const SampleSpan& span,
               const Compute& compute);

  std::vector<OutputDerivatives*> members_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t count_;  // of numbers at a time
  Arena memory_;
  Tensors tensors_;
  HostStaging staging_;
};

}  // namespace mylos
