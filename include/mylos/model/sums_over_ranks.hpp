// SumsOverRanks: the exchange between ranks inside a block's passes (statistics of a batch that all ranks
// share).
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

class SumsOverRanks {
 public:
  virtual ~SumsOverRanks() = default;
  /// Replaces each of the doubles by its sum over the ranks, with the same bits on all ranks. All ranks must
  /// call it in the same order.
  virtual void add_up(const Execution& exec, const Tensor& doubles) = 0;
};

}  // namespace mylos
