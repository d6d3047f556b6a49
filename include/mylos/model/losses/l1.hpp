// model.loss = "l1": mean absolute error.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The mean of absolute errors.
struct L1 {
  static constexpr LossTraits traits{.name = "l1", .meaning = "mean absolute error", .is_mean = true};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const L1&) const = default;
};

}  // namespace mylos::losses
