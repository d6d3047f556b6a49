// How the outputs of a network of arrays become its next input: channels, and units after normalisation.
#pragma once

#include <vector>

#include "mylos/data/arrays/layout/rollout_layout.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/rollout.hpp"

namespace mylos {

/// Returns the map of a layout. Throws Error (bad_input) if no target is an input, or if steps of several
/// levels would need levels between them: `ahead` > 1 with `history` > 1.
[[nodiscard]] FeedbackMap feedback_map(const RolloutLayout& layout);

/// Returns the scaling of every channel of the input: of those that take an output; 1 and 0 of the others.
/// Throws Error (bad_input) if the points of a channel are normalised differently.
[[nodiscard]] std::vector<FeedbackScaling> feedback_scalings(const Normalizer& normalizer,
                                                             const FeedbackMap& map);

}  // namespace mylos
