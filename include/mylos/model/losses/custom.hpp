// model.loss = "custom": of the program.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The loss of the program (custom_loss.hpp).
struct Custom {
  static constexpr LossTraits traits{
      .name = "custom", .meaning = "of the program that reads the deck (`docs/how-to/custom-layers.md`)"};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const Custom&) const = default;
};

}  // namespace mylos::losses
