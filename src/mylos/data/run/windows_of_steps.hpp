// The windows of several steps on which a rollout trains, and their normalisation.
#pragma once

#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

/// Returns the windows of `several`, of all steps of a rollout, whose every step is one of the windows
/// `train`, the first of `single`, which opens the same files with one step. Throws Error (bad_input) if
/// there is none.
[[nodiscard]] Split windows_of_all_steps(const ArrayStore& several, const ArrayStore& single, Split train);

/// Returns the normalizer of samples of all steps from that of one step: a channel is scaled alike at every
/// level.
[[nodiscard]] Normalizer for_all_steps(const Normalizer& of_one, const RolloutLayout& layout);

}  // namespace mylos
