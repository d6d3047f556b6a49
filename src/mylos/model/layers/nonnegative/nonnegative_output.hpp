// The last layer of a network whose deck has model.nonnegative: targets that are at least 0.
#pragma once

#include "mylos/model/chain/chain.hpp"
#include "mylos/model/layers/residual/residual_output.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// Appends the block, named "nonnegative", if the options name targets. Their normalisation has no shift
/// (RunData::normalizer), so that 0 stays 0 in the units of the data. Throws Error (bad_input) as
/// channels_of_targets() does, or if a layer has the block's name.
void append_nonnegative(Chain& chain, const ModelOptions& model, const SampleShape& output);

}  // namespace mylos
