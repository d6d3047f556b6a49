// model.loss = "gaussian": a likelihood of means and log variances.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The negative log likelihood of a normal distribution whose mean and log variance the network computes (Nix
/// and Weigend 1994, doi 10.1109/ICNN.1994.374138).
struct Gaussian {
  static constexpr LossTraits traits{
      .name = "gaussian",
      .meaning =
          "the negative log likelihood of a normal distribution, whose mean and log variance the network "
          "computes for each target (`docs/how-to/uncertainty.md`)",
      .prediction = Prediction::distributions,
      .is_mean = true};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const Gaussian&) const = default;
};

}  // namespace mylos::losses
