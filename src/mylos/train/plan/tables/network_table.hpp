// The table of a chain's layers for `mylos plan`: output, type and cost of each.
#pragma once

#include <string>

#include "mylos/kernels/engines/engines.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns a line for each block and the head: name, kind, output shape of a sample, type, parameters, bytes
/// of the output for a micro-batch of `samples`, forward and backward FLOPs of a sample.
[[nodiscard]] std::string network_table(const Chain& chain, const Engines& engines, std::int64_t samples);

/// Returns a line for each spectral layer whose modes are so many that FFTs would probably be faster; usually
/// empty.
[[nodiscard]] std::string note_on_transforms(const Chain& chain);

}  // namespace mylos
