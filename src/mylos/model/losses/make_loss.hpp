// The loss at the end of a network.
#pragma once

#include <memory>
#include <variant>

#include "mylos/base/error.hpp"
#include "mylos/model/losses/output_loss.hpp"

namespace mylos {

/// Makes the loss of the options. Throws Error (bad_input) if its parameters do not fit the outputs: the
/// number of class weights, or what FieldLoss requires.
[[nodiscard]] inline std::unique_ptr<LossHead> make_loss(const ModelOptions& model, const LossInput& input) {
  return std::visit([&](const auto& loss) { return loss.make(model, input); }, model.loss);
}

/// Returns what to throw (bad_input) where a loss of the program is to be computed and there is none.
[[nodiscard]] Error missing_custom_loss();

}  // namespace mylos
