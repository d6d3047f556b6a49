// model.loss: the losses, and what the outputs of a network say that was trained by one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mylos {

/// What training minimises; docs/reference/formulas.md has the formulas.
/// `gaussian`: the negative log likelihood of a normal distribution whose mean and log variance the network
/// computes (Nix and Weigend 1994, doi 10.1109/ICNN.1994.374138). `custom`: the program's (custom_loss.hpp).
enum class LossType {
  cross_entropy,
  mse,
  l1,
  huber,
  relative_l2,
  relative_h1,
  gaussian,
  binary_cross_entropy,
  custom
};

/// What the last layer's outputs say about the targets of a sample.
enum class Prediction {
  numbers,        // the targets themselves, in the units of training
  distributions,  // of the same: at each point the means of all channels, then their log variances
  probabilities,  // logits; the targets are probabilities from 0 to 1
  classes         // logits, one per class; the target is the number of a class
};

/// What is known of a loss without its parameters.
struct LossTraits {
  std::string_view name;  // in decks
  Prediction prediction = Prediction::numbers;
  bool is_relative = false;      // divides the norm of a sample's error by that of its targets
  bool has_derivatives = false;  // its norms include the derivatives of fields
};

/// A row for each loss, in the order of LossType.
inline constexpr LossTraits loss_traits[] = {
    {.name = "cross_entropy", .prediction = Prediction::classes},
    {.name = "mse"},
    {.name = "l1"},
    {.name = "huber"},
    {.name = "relative_l2", .is_relative = true},
    {.name = "relative_h1", .is_relative = true, .has_derivatives = true},
    {.name = "gaussian", .prediction = Prediction::distributions},
    {.name = "binary_cross_entropy", .prediction = Prediction::probabilities},
    {.name = "custom"}};

[[nodiscard]] constexpr const LossTraits& traits_of(LossType loss) {
  return loss_traits[static_cast<std::size_t>(loss)];
}

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(LossType loss) {
  return traits_of(loss).name;
}

[[nodiscard]] constexpr Prediction prediction_of(LossType loss) {
  return traits_of(loss).prediction;
}

/// Returns whether the targets may be any numbers, which training scales.
[[nodiscard]] constexpr bool is_of_numbers(Prediction prediction) {
  return prediction == Prediction::numbers || prediction == Prediction::distributions;
}

/// Returns the numbers that the last layer computes for each target.
[[nodiscard]] constexpr std::int64_t outputs_per_target(Prediction prediction) {
  return prediction == Prediction::distributions ? 2 : 1;
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
