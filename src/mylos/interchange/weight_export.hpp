// The weights of a checkpoint as safetensors, under our own names: of any network. The numbers lie as PyTorch
// keeps them (model/parameters/channels_first.hpp), and metadata say so (WeightMetadata).
#pragma once

#include <cstdint>
#include <string>

#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/precision/conversion_safety.hpp"

namespace mylos {

/// What narrower types would do to the numbers that write_weights writes.
[[nodiscard]] ConversionSafety weights_safety(WeightFile& file);

struct ExportedWeights {
  bool is_channels_first = true;  // false: the checkpoint does not say the grid that its layers work on
  std::int64_t statistics = 0;    // tensors of the normalisation
};

/// Writes every parameter as a tensor LAYER.PARAMETER in `type`, and the normalisation of inputs and targets
/// as normalization.{inputs,targets}.{shift,scale} in double. Takes memory for one tensor at a time, twice
/// where its numbers move. Where the checkpoint does not say the grid of its samples, all stays as it lies
/// there, and the file says that. Throws Error: bad_input where a number is beyond the type, does_not_fit
/// where the host has no memory for the largest; then nothing is written.
ExportedWeights write_weights(WeightFile& file, const std::string& path, DType type);

}  // namespace mylos
