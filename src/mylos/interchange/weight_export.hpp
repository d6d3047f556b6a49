// Exports the weights of a checkpoint, of any network, as safetensors under our own names. The layout is
// PyTorch's (model/parameters/channels_first.hpp), and the metadata state it (WeightMetadata).
#pragma once

#include <cstdint>
#include <string>

#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/precision/conversion_safety.hpp"

namespace mylos {

/// Returns the effect of narrower types on the numbers that write_weights writes.
[[nodiscard]] ConversionSafety weights_safety(WeightFile& file);

struct ExportedWeights {
  bool is_channels_first = true;  // false: the checkpoint does not state the grid of its layers
  std::int64_t statistics = 0;    // number of tensors of the normalisation
};

/// Writes every parameter as a tensor LAYER.PARAMETER in `type`, and the normalisation of inputs and targets
/// as normalization.{inputs,targets}.{shift,scale} in double. Takes memory for one tensor at a time, twice if
/// its layout changes. If the checkpoint does not state the grid of its samples, all layouts stay, and the
/// file's metadata state this. Throws Error, and writes nothing: bad_input if a number exceeds the type,
/// does_not_fit if the host has no memory for the largest tensor.
ExportedWeights write_weights(WeightFile& file, const std::string& path, DType type);

}  // namespace mylos
