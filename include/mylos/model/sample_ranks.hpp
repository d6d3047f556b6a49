// SampleRanks: what the ranks that hold the parts of the same samples (GridPart) exchange inside a block's
// passes.
//
// These ranks make the same calls in the same order, with the same sizes.
#pragma once

#include <cstddef>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// The largest exchanges of a pass, in bytes.
struct SampleExchangeSizes {
  std::size_t faces = 0;  // the two faces that a rank sends along an axis
  std::size_t sums = 0;   // the doubles of a sum
};

/// What a call of SampleRanks sends.
struct SampleCall {
  std::size_t bytes = 0;  // of one of the two faces, or of the doubles of a sum
  bool is_sum = false;
  std::size_t axis = 0;  // of faces
  bool periodic = false;

  bool operator==(const SampleCall&) const = default;
};

class SampleRanks {
 public:
  virtual ~SampleRanks() = default;

  /// Exchanges faces with the two neighbours along an axis (0: depth). `sent` and `received`: two rows of one
  /// type, of the face towards smaller indices and of the one towards larger ones. Beyond an edge of the grid
  /// lies the opposite one if the axis is `periodic`; otherwise the received face becomes zeros.
  virtual void exchange_faces(const Execution& exec, std::size_t axis, bool periodic, const ConstTensor& sent,
                              const Tensor& received) = 0;
  /// Replaces each of the doubles by its sum over the parts of the samples, added in the order of the parts:
  /// with the same bits on all of these ranks.
  virtual void add_up(const Execution& exec, const Tensor& doubles) = 0;
};

}  // namespace mylos
