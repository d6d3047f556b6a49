// [model]: the loss and its parameters.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/type_words.hpp"

namespace mylos {
namespace {

Condition with_relative_norms() {
  return {"model.loss = \"relative_l2\" or \"relative_h1\", or one of them in run.metrics",
          {"model.loss", "run.metrics"},
          [](const Options& options) {
            return traits_of(options.model.loss).is_relative ||
                   has_measure(options.run.metrics, Measure::relative_l2) ||
                   has_measure(options.run.metrics, Measure::relative_h1);
          }};
}

Condition with_derivatives() {
  return {"model.loss = \"relative_h1\", or \"relative_h1\" in run.metrics",
          {"model.loss", "run.metrics"},
          [](const Options& options) {
            return traits_of(options.model.loss).has_derivatives ||
                   has_measure(options.run.metrics, Measure::relative_h1);
          }};
}

}  // namespace

std::vector<std::string> losses_of(Prediction prediction) {
  std::vector<std::string> names;
  for (const LossTraits& loss : loss_traits)
    if (loss.prediction == prediction) names.emplace_back(loss.name);
  return names;
}

void add_loss_keys(Schema& schema) {
  Keys keys(
      schema, "model", [](auto& options) -> auto& { return options.model; });
  keys.choice(
      "loss", &ModelOptions::loss, words_of<LossType>(loss_traits),
      "All but gpt: the loss to minimise, a mean over samples. For classes: cross_entropy. For targets: mse "
      "(mean squared error), l1 (mean absolute error), huber (quadratic up to `huber_delta`, linear beyond), "
      "relative_l2 (the error's norm divided by the targets'), relative_h1 (the same with norms that include "
      "the derivatives of fields), gaussian (the negative log likelihood of a normal distribution, whose "
      "mean and log variance the network computes for each target: `docs/how-to/uncertainty.md`), and "
      "binary_cross_entropy, whose targets are probabilities from 0 to 1 and whose outputs are logits. "
      "custom: "
      "of the program that reads the deck (`docs/how-to/custom-layers.md`).");
  keys.choice("loss_per", &ModelOptions::loss_per,
              Words<LossPer>{{"sample", LossPer::sample}, {"channel", LossPer::channel}},
              "Relative norms. sample: over all channels of a sample's field together. channel: of each "
              "channel, divided by that channel's norm of the targets; the mean over channels counts.")
      .limit(with_relative_norms());
  keys.choice("derivative", &ModelOptions::derivative,
              Words<Derivative>{{"differences", Derivative::differences},
                                {"one_sided", Derivative::one_sided},
                                {"spectral", Derivative::spectral}},
              "relative_h1: the derivatives of fields along each axis, which is one unit long. differences: "
              "central, of periodic fields. one_sided: the same inside, and one-sided differences of third "
              "order at both ends. spectral: of the trigonometric polynomial through all points of periodic "
              "fields.")
      .limit(with_derivatives());
  keys.number("huber_delta", &ModelOptions::huber_delta, {0, false, 1e30, true}, "",
              "huber: the error of normalised targets above which the loss is linear.")
      .limit(with("model.loss", {std::string(name_of(LossType::huber))}));
  keys.number("label_smoothing", &ModelOptions::label_smoothing, {0, true, 1, false}, "",
              "cross_entropy: the part of the label's probability that is distributed over all classes.")
      .limit(with("model.loss", losses_of(Prediction::classes)));
  keys.add("class_weights", &ModelOptions::class_weights,
           or_none(list_type(number_type({0, false, 1e30, true}), {.text = "list of numbers above 0"})),
           "cross_entropy: the weight of each class's samples in the loss, one number per class. The loss "
           "remains a mean over samples, not over weights, so that it does not depend on the division of a "
           "batch.")
      .limit(with("model.loss", losses_of(Prediction::classes)));
}

}  // namespace mylos
