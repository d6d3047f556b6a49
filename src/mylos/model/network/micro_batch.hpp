// MicroBatch: the inputs of one pass over the network, and what its outputs are compared with.
#pragma once

#include <cstdint>

#include "mylos/base/tensor.hpp"
#include "mylos/model/block/loss_head.hpp"

namespace mylos {

/// Device memory that stays valid until the source is asked for the next one.
struct MicroBatch {
  ConstTensor inputs;  // [rows, inputs] in the chain's input type; without rows nothing is computed
  Truth truth;
  std::uint64_t first_sample = 0;  // index in the global batch of its first sample
};

}  // namespace mylos
