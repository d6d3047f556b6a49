// ExactSquares: the sum of the squares of all ranks' gradients, independent of their distribution over ranks.
//
// Squares of 32 neighbours are added in double in one order; these sums are added without rounding
// (exact_sum.hpp). The ranks' slices begin at multiples of 32 elements of their bucket.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

/// The sum over one block of gradients.
struct SquaresOfBlock {
  ExactSum sum;
  std::int64_t not_finite = 0;  // number of neighbour sums that are not finite and not in `sum`
};

class ExactSquares {
 public:
  /// `slices`: this rank's slice of every bucket, in float. `exchange_s`: the seconds of exchanging sums are
  /// added to it. Both references must outlive this object.
  ExactSquares(Communicator& communicator, std::span<const Tensor> slices, double& exchange_s);
  [[nodiscard]] static std::size_t memory_bytes(std::span<const std::int64_t> lengths);

  /// Writes *result in device memory: the sum over all ranks on the first rank, 0 on the others, and NaN on
  /// ranks with a value that is not finite.
  void sum(const Execution& exec, double* result) const;

 private:
  Communicator& communicator_;
  double& exchange_s_;
  std::vector<Tensor> slices_;
  DeviceArray<SquaresOfBlock> blocks_;  // of the slice being summed
  DeviceArray<SquaresOfBlock> total_;
  DeviceArray<std::int32_t> exchanged_;  // digits
};

}  // namespace mylos
