// model.loss = "quantile": the pinball loss of quantiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <vector>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The most levels of a network.
inline constexpr std::size_t max_quantiles = 32;

/// The pinball loss of quantiles of the targets at several levels (Koenker and Bassett 1978, doi
/// 10.2307/1913643).
struct Quantile {
  std::vector<double> levels = {0.05, 0.5, 0.95};  // ascending, in (0, 1)

  static constexpr LossTraits traits{
      .name = "quantile",
      .meaning =
          "the pinball loss of quantiles of each target at the levels `quantiles` "
          "(`docs/how-to/uncertainty.md`)",
      .prediction = Prediction::quantiles,
      .is_mean = true};
  static constexpr auto keys() {
    return std::tuple(OwnKey<Quantile, std::vector<double>>{
        .name = "quantiles",
        .member = &Quantile::levels,
        .meaning =
            "quantile: the levels, ascending; the network computes a number for each target and level. "
            "The level nearest to 0.5 is the prediction that measures, rollouts and programs read.",
        .range = {0, 1, true, true},
        .list = "list of numbers between 0 and 1"});
  }
  /// Returns whether there are 1 to max_quantiles levels, which ascend.
  [[nodiscard]] bool are_levels_valid() const {
    return !levels.empty() && levels.size() <= max_quantiles &&
           std::adjacent_find(levels.begin(), levels.end(), std::greater_equal<>()) == levels.end();
  }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const Quantile&) const = default;
};

}  // namespace mylos::losses
