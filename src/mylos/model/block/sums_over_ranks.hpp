// SumsOverRanks: what a pass through a block exchanges with the other ranks (statistics of a batch that lies
// on all of them).
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

class SumsOverRanks {
 public:
  virtual ~SumsOverRanks() = default;
  /// Each of the doubles becomes its sum over the ranks, with the same bits everywhere. All ranks, in the
  /// same order.
  virtual void add_up(const Execution& exec, const Tensor& doubles) = 0;
};

}  // namespace mylos
