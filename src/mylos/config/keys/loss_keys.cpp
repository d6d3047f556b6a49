// [model]: the loss and its parameters.
#include "mylos/base/errors/combinations.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/own_keys.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/type_words.hpp"

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

Words<LossPer> loss_per_words() {
  return {{"sample", LossPer::sample}, {"channel", LossPer::channel}};
}

Words<Derivative> derivative_words() {
  return {{"differences", Derivative::differences},
          {"one_sided", Derivative::one_sided},
          {"spectral", Derivative::spectral}};
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

void add_term_keys(Key& terms) {
  auto keys = tables_of(terms, [](auto& options) -> auto& { return options.model.terms; },
                        {.mistake = [](const Options& options) -> Found {
                          const LossTerm& term = options.model.terms.back();
                          if (term.channels.empty() || term.variables.empty()) return std::nullopt;
                          return Mismatch("a table with both 'channels' and 'variables', which name the same",
                                          errors::keys_conflict);
                        }});
  Key& loss = keys.add("loss", &LossTerm::loss, kind_type<TermLoss>(), "The loss. Required.");
  loss.require();
  keys.add("channels", &LossTerm::channels,
           or_none(list_type(integer_type({0, max_width}), {.text = "list of channels"})),
           "The channels of the outputs, or targets of a vector, that the loss reads, counted from 0 in the "
           "order of the data. Default: all.");
  keys.add("variables", &LossTerm::variables,
           or_none(list_type(text_type(is_path, "name"), {.text = "list of names", .distinct = true})),
           "The same by the names of the data's targets, instead of `channels`: `\"/wind\"`, an array of "
           "data.arrays.targets with all its channels, `\"wind[0]\"`, one of them, or the name of a column "
           "(`/target_names`).");
  keys.number("weight", &LossTerm::weight, {0, false, 1e30, true}, "", "The factor of the loss.");
  keys.choice("loss_per", &LossTerm::per, loss_per_words(), "As `model.loss_per`, of this term.")
      .limit(with(loss, {"relative_l2", "relative_h1"}));
  keys.choice("derivative", &LossTerm::derivative, derivative_words(), "As `model.derivative`, of this term.")
      .limit(with(loss, {"relative_h1"}));
  add_own_keys<TermLoss>(
      keys, [](auto& options) -> auto& { return options.model.terms.back().loss; },
      [&loss](std::vector<std::string> losses) { return with(loss, std::move(losses)); });
}

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
  keys.choice("loss_per", &ModelOptions::loss_per, loss_per_words(),
              "Relative norms. sample: over all channels of a sample's field together. channel: of each "
              "channel, divided by that channel's norm of the targets; the mean over channels counts.")
      .limit(with_relative_norms());
  keys.choice("derivative", &ModelOptions::derivative, derivative_words(),
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
