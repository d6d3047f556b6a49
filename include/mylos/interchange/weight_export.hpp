// The weights of a checkpoint as safetensors, under our own names: of any network.
#pragma once

#include <string>

#include "mylos/checkpoint/weight_file.hpp"
#include "mylos/precision/conversion_safety.hpp"

namespace mylos {

/// What narrower types would do to the numbers that write_weights writes.
[[nodiscard]] ConversionSafety weights_safety(WeightFile& file);

/// Writes every parameter as a tensor LAYER.PARAMETER, with the dimensions that it has in the checkpoint.
/// Takes memory for one at a time. Throws Error: bad_input where a number is beyond the type, does_not_fit
/// where the host has no memory for the largest; then nothing is written.
void write_weights(WeightFile& file, const std::string& path, DType type);

}  // namespace mylos
