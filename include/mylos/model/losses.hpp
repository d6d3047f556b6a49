// model.loss: the losses, and what the outputs of a network say that was trained by one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "mylos/model/losses/binary_cross_entropy.hpp"
#include "mylos/model/losses/cross_entropy.hpp"
#include "mylos/model/losses/custom.hpp"
#include "mylos/model/losses/gaussian.hpp"
#include "mylos/model/losses/huber.hpp"
#include "mylos/model/losses/l1.hpp"
#include "mylos/model/losses/mse.hpp"
#include "mylos/model/losses/quantile.hpp"
#include "mylos/model/losses/relative_h1.hpp"
#include "mylos/model/losses/relative_l2.hpp"
#include "mylos/model/losses/sum.hpp"

namespace mylos {

/// The losses, in the order of the manual; docs/reference/formulas.md has the formulas. Each has a header in
/// include/mylos/model/losses, and its code in src/mylos/model/losses.
using Loss = std::variant<losses::CrossEntropy, losses::Mse, losses::L1, losses::Huber, losses::RelativeL2,
                          losses::RelativeH1, losses::Gaussian, losses::Quantile, losses::BinaryCrossEntropy,
                          losses::Sum, losses::Custom>;

/// A row for each loss, in the order of Loss.
inline constexpr auto loss_traits = traits_of_kinds(static_cast<const Loss*>(nullptr));

[[nodiscard]] constexpr const LossTraits& traits_of(const Loss& loss) {
  return loss_traits[loss.index()];
}

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(const Loss& loss) {
  return traits_of(loss).name;
}

[[nodiscard]] constexpr Prediction prediction_of(const Loss& loss) {
  return traits_of(loss).prediction;
}

/// Returns whether the targets may be any numbers, which training scales.
[[nodiscard]] constexpr bool is_of_numbers(Prediction prediction) {
  return prediction == Prediction::numbers || prediction == Prediction::distributions ||
         prediction == Prediction::quantiles;
}

/// Returns the numbers that the last layer computes for each target.
[[nodiscard]] inline std::int64_t outputs_per_target(const Loss& loss) {
  if (const auto* quantile = std::get_if<losses::Quantile>(&loss))
    return static_cast<std::int64_t>(quantile->levels.size());
  return prediction_of(loss) == Prediction::distributions ? 2 : 1;
}

/// Returns what a user reads of the outputs.
[[nodiscard]] constexpr const char* meaning_of(Prediction prediction) {
  if (prediction == Prediction::classes) return "probability of each class";
  if (prediction == Prediction::probabilities) return "probability of each target";
  return "targets in their own units";
}

/// Returns what the targets of a sample are called in messages.
[[nodiscard]] constexpr const char* noun_of_targets(Prediction prediction) {
  return prediction == Prediction::classes ? "classes" : "targets";
}

}  // namespace mylos
