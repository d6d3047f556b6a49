// model.loss = "binary_cross_entropy": of targets that are probabilities.
#pragma once

#include <tuple>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The cross-entropy of the sigmoid of each logit and a probability.
struct BinaryCrossEntropy {
  static constexpr LossTraits traits{
      .name = "binary_cross_entropy",
      .meaning = "of targets that are probabilities from 0 to 1; the outputs are logits",
      .prediction = Prediction::probabilities};
  static constexpr auto keys() { return std::tuple(); }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const BinaryCrossEntropy&) const = default;
};

}  // namespace mylos::losses
