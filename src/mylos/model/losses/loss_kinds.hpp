// The losses of a network's outputs. Each lies in a folder of its own beside this file; its traits are a row
// of loss_traits (mylos/model/losses.hpp).
#pragma once

#include <memory>

#include "mylos/base/error.hpp"
#include "mylos/model/losses/output_loss.hpp"

namespace mylos {

/// Makes the loss of the options. Throws Error (bad_input) if its parameters do not fit the outputs: the
/// number of class weights, or what FieldLoss requires.
[[nodiscard]] std::unique_ptr<LossHead> make_loss(const ModelOptions& model, const LossInput& input);

// Of one kind each.
[[nodiscard]] std::unique_ptr<LossHead> make_cross_entropy(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_mse(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_l1(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_huber(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_relative_l2(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_relative_h1(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_gaussian(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_binary_cross_entropy(const ModelOptions&, const LossInput&);
[[nodiscard]] std::unique_ptr<LossHead> make_custom(const ModelOptions&, const LossInput&);

/// Returns what to throw (bad_input) where a loss of the program is to be computed and there is none.
[[nodiscard]] Error missing_custom_loss();

}  // namespace mylos
