// model.loss = "sum": a weighted sum of losses, each of some channels.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The weighted sum of ModelOptions::terms.
struct Sum {
  static constexpr LossTraits traits{
      .name = "sum", .meaning = "the weighted sum of the losses in [[model.terms]], each of some channels"};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const Sum&) const = default;
};

}  // namespace mylos::losses
