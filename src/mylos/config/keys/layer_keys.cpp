// [[model.layers]]: the layers of a network that the deck lists individually.
#include <utility>

#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/own_keys.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/type_words.hpp"

namespace mylos {
namespace {

constexpr const char* layers_introduction =
    R"(The layers of `type = "chain"`, input first. A layer computes `dense` or `conv` (or `add`, `concat`), then `norm`,
`activation` and `dropout`. Samples lie on a grid, channels last (`data.shape`, or what `mylos prepare idx`, `images` or
`fields` wrote). A dense layer reads a grid as one vector.

```toml
[[model.layers]]
kind = "conv"
name = "stem"
outputs = 32
kernel = 3
activation = "relu"

[[model.layers]]
kind = "conv"
outputs = 32
kernel = 3

[[model.layers]]
kind = "add"          # a residual connection: adds the output of "stem"
skip_from = "stem"
activation = "relu"

[[model.layers]]
kind = "dense"        # outputs: the number of classes or targets
```)";

/// The names of the kinds that have a trait.
std::vector<std::string> kinds_with(bool LayerTraits::*trait) {
  std::vector<std::string> names;
  for (const LayerTraits& each : layer_traits)
    if (each.*trait) names.emplace_back(each.name);
  return names;
}

}  // namespace

void add_layer_keys(Key& layers) {
  auto keys = tables_of(
      layers, [](auto& options) -> auto& { return options.model.chain; },
      {.noun = "layer", .meaning = layers_introduction}, max_layers);
  Key& kind = keys.add("kind", &LayerOptions::kind, kind_type<LayerKind>(),
                       "The kind of layer. Required." + meanings_of_kinds<LayerKind>());
  kind.require();
  keys.text("name", &LayerOptions::name, is_name, "name",
            "The layer's name in rules, checkpoints and 'skip_from'. Default: the kind and the layer's "
            "number, \"conv2\".");
  std::vector<std::string> with_outputs = kinds_with(&LayerTraits::computes_outputs);
  for (std::string& each : kinds_with(&LayerTraits::may_have_outputs))
    with_outputs.push_back(std::move(each));
  keys.optional_integer("outputs", &LayerOptions::outputs, {1, max_width}, "",
                        "dense: units; for the last layer the default is the number that the data require. "
                        "conv, spectral: channels. Otherwise required.")
      .limit(with(kind, std::move(with_outputs)));
  keys.text("skip_from", &LayerOptions::skip_from, is_name, "name",
            "The earlier layer whose output is added (add), concatenated (concat) or used as input (branch; "
            "the branch's own input is for a later layer), or whose sums are kept (conserve); \"input\": the "
            "network's input. Required.")
      .limit(with(kind, kinds_with(&LayerTraits::reads_earlier)));
  add_own_keys<LayerKind>(
      keys, [](auto& options) -> auto& { return options.model.chain.back().kind; },
      [&kind](std::vector<std::string> kinds) { return with(kind, std::move(kinds)); });
  Key& norm_type = keys.choice("norm", &LayerOptions::norm,
                               names_of({NormType::none, NormType::layernorm, NormType::rmsnorm,
                                         NormType::groupnorm, NormType::batchnorm}),
                               "Normalisation of a vector's features, or of each grid point's channels; "
                               "groupnorm: of groups of channels over the complete grid; batchnorm: of each "
                               "feature or channel over the samples.");
  keys.integer("norm_groups", &LayerOptions::norm_groups, {1, max_width}, "",
               "groupnorm: number of groups; it must divide the channels.")
      .limit(with(norm_type, {"groupnorm"}));
  keys.choice("norm_over", &LayerOptions::norm_over,
              Words<NormOver>{{"micro_batch", NormOver::micro_batch}, {"ranks", NormOver::ranks}},
              "batchnorm: statistics over the samples of a rank's micro-batch, or over those of all ranks.")
      .limit(with(norm_type, {"batchnorm"}));
  keys.number("norm_momentum", &LayerOptions::norm_momentum, {0, false, 1, true}, "",
              "batchnorm: the weight of a step's samples in the running statistics, which evaluations use.")
      .limit(with(norm_type, {"batchnorm"}));
  keys.choice("activation", &LayerOptions::activation, activation_words(), "Activation function.");
  keys.number("dropout", &LayerOptions::dropout, {0, true, 1, false}, "",
              "Probability that training drops an element after the activation.");
  keys.integer("repeat", &LayerOptions::repeat, {1, max_layers}, "",
               "Number of copies of the layer in sequence, named \"NAME.1\", \"NAME.2\".");
}

}  // namespace mylos
