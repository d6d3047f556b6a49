// The loss of a rank's box whose sums are taken by boxes (kernels/grid/sum_boxes.hpp): the mean of theirs.
#pragma once

#include <memory>

#include "mylos/model/losses/make_loss.hpp"

namespace mylos {

/// Makes the loss of the options, one for which LossTraits::is_mean holds, for outputs on a grid of which
/// ModelOptions::part has several boxes of sums. Throws as make_loss().
[[nodiscard]] std::unique_ptr<LossHead> make_loss_of_boxes(const ModelOptions& model, const LossInput& input);

}  // namespace mylos
