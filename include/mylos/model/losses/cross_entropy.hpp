// model.loss = "cross_entropy": of classes.
#pragma once

#include <tuple>
#include <vector>

#include "mylos/model/losses/loss_kind.hpp"

namespace mylos::losses {

/// The cross-entropy of the softmax of logits and a class.
struct CrossEntropy {
  double label_smoothing = 0;              // in [0, 1)
  std::vector<double> class_weights = {};  // one per class; empty: all are 1

  static constexpr LossTraits traits{
      .name = "cross_entropy", .meaning = "of classes", .prediction = Prediction::classes};
  static constexpr auto keys() {
    return std::tuple(
        OwnKey<CrossEntropy, double>{
            "label_smoothing",
            &CrossEntropy::label_smoothing,
            "cross_entropy: the part of the label's probability that is distributed over all classes.",
            "",
            {0, 1, false, true}},
        OwnKey<CrossEntropy, std::vector<double>>{
            .name = "class_weights",
            .member = &CrossEntropy::class_weights,
            .meaning = "cross_entropy: the weight of each class's samples in the loss, one number per class. "
                       "The loss remains a mean over samples, not over weights, so that it does not depend "
                       "on the division of a batch.",
            .range = {0, 1e30, true},
            .list = "list of numbers above 0"});
  }
  [[nodiscard]] std::unique_ptr<LossHead> make(const ModelOptions& model, const LossInput& input) const;

  bool operator==(const CrossEntropy&) const = default;
};

}  // namespace mylos::losses
