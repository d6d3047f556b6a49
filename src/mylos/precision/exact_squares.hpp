// ExactSquares: the sum of the squares of all ranks' gradients, the same whichever rank has which of them.
//
// Squares of 32 neighbours are added in double in one order; these sums are added without rounding
// (exact_sum.hpp). Slices of ranks begin at multiples of 32 elements of their bucket.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

/// Of a stretch of gradients.
struct SquaresOfBlock {
  ExactSum sum;
  std::int64_t not_finite = 0;  // sums of neighbours that are not in it
};

class ExactSquares {
 public:
  /// `slices`: this rank's of every bucket, of floats. `exchange_s`: to which the seconds are added that sums
  /// are exchanged. Both references must outlive this object.
  ExactSquares(Communicator& communicator, std::span<const Tensor> slices, double& exchange_s);
  [[nodiscard]] static std::size_t memory_bytes(std::span<const std::int64_t> lengths);

  /// *result, in device memory: on the first rank the sum over all ranks, on the others 0; NaN on ranks that
  /// have a value which is not finite.
  void sum(const Execution& exec, double* result) const;

 private:
  Communicator& communicator_;
  double& exchange_s_;
  std::vector<Tensor> slices_;
  Kokkos::View<SquaresOfBlock*, Device> blocks_;  // of the slice that is summed
  Kokkos::View<SquaresOfBlock, Device> total_;
  Kokkos::View<std::int32_t*, Device> exchanged_;  // digits
};

}  // namespace mylos
