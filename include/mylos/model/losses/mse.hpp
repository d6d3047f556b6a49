// model.loss = "mse": mean squared error.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The mean of squared errors.
struct Mse {
  static constexpr LossTraits traits{.name = "mse", .meaning = "mean squared error", .is_mean = true};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const Mse&) const = default;
};

}  // namespace mylos::losses
