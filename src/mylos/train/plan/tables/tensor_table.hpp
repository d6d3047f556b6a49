// Tensor table: statistics of all tensors of a step, for finding the origin of invalid numbers.
#pragma once

#include <functional>
#include <string>

#include "mylos/train/step/trainer.hpp"

namespace mylos {

/// Statistics of a tensor's values.
struct TensorFacts {
  double least = 0;  // minimum of the values that are numbers; 0 if there are none
  double largest = 0;
  double mean = 0;
  std::int64_t zeros = 0;
  std::int64_t non_finite = 0;
};

/// Computes the statistics. Waits for all kernels first, and takes as much host memory as the tensor.
[[nodiscard]] TensorFacts facts_of(const ConstTensor& tensor);

/// Computes the gradients of this rank's next step, and gives `line` a heading and a line of each tensor:
/// layer, name, type, shape, place, least, largest, mean, zeros. `batches` is to be put back afterwards.
/// Other ranks take no part.
void show_tensors(const Quiesced& quiet, Trainer& trainer, BatchSource& batches,
                  const std::function<void(const std::string&)>& line);

}  // namespace mylos
