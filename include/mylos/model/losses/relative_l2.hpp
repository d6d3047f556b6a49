// model.loss = "relative_l2": norms of errors divided by those of targets.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The norm of a sample's error divided by that of its targets.
struct RelativeL2 {
  static constexpr LossTraits traits{
      .name = "relative_l2", .meaning = "the error's norm divided by the targets'", .is_relative = true};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const RelativeL2&) const = default;
};

}  // namespace mylos::losses
