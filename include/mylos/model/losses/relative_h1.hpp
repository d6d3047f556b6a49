// model.loss = "relative_h1": norms of errors and of their derivatives, divided by those of targets.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The norm of a field's error divided by that of its targets, both with derivatives.
struct RelativeH1 {
  static constexpr LossTraits traits{.name = "relative_h1",
                                     .meaning = "the same with norms that include the derivatives of fields",
                                     .is_relative = true,
                                     .has_derivatives = true};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const RelativeH1&) const = default;
};

}  // namespace mylos::losses
