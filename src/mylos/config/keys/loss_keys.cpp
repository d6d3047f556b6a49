// [model]: the loss and its parameters.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/own_keys.hpp"
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
  keys.add("loss", &ModelOptions::loss, kind_type<Loss>(),
           "All but gpt: the loss to minimise, a mean over samples." + meanings_of_kinds<Loss>())
      .comes_first = true;
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
  add_own_keys<Loss>(
      keys, [](auto& options) -> auto& { return options.model.loss; },
      [](std::vector<std::string> losses) { return with("model.loss", std::move(losses)); });
}

}  // namespace mylos
