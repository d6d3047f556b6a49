// model.loss = "huber": quadratic for small errors, linear for large ones.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The mean of errors' squares up to `delta`, and linear beyond.
struct Huber {
  double delta = 1;  // where the loss changes from quadratic to linear

  static constexpr LossTraits traits{
      .name = "huber", .meaning = "quadratic up to `huber_delta`, linear beyond", .is_mean = true};
  static constexpr auto keys() {
    return std::tuple(
        OwnKey<Huber, double>{"huber_delta",
                              &Huber::delta,
                              "huber: the error of normalised targets above which the loss is linear.",
                              "",
                              {0, 1e30, true}});
  }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const Huber&) const = default;
};

}  // namespace mylos::losses
