// The residual sum that a norm reads.
#pragma once

#include "mylos/kernels/pointwise/residual.hpp"

namespace mylos {

/// x = past + dropout(branch), rounded once. Shapes and types are equal; x may be past or branch.
struct ResidualSum {
  ConstTensor past;
  ConstTensor branch;
  Tensor x;
  Dropout dropout = {};
};

}  // namespace mylos
