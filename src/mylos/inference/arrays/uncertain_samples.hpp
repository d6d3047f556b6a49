// UncertainSamples: where standard deviations and bounds of outputs go.
#pragma once

#include "mylos/inference/arrays/array_samples.hpp"

namespace mylos {

/// Null: not wanted.
struct UncertainSamples {
  const ArraySamples* deviation = nullptr;
  const ArraySamples* lower = nullptr;
  const ArraySamples* upper = nullptr;
};

}  // namespace mylos
