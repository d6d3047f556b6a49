// [model].
#include "keys.hpp"
#include "limits.hpp"
#include "sections.hpp"

namespace mylos {
namespace {

/// The widths, or what was found where a width should stand.
std::optional<std::string> read_widths(const Value& value, std::vector<std::int64_t>& widths) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  if (list->size() > most_layers) return fmt::format("a list of {}", list->size());
  widths.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* width = std::get_if<std::int64_t>(&(*list)[i].held);
    if (width == nullptr || *width < 1 || *width > largest_width) {
      return fmt::format("{} at place {}", describe((*list)[i]), i + 1);
    }
    widths.push_back(*width);
  }
  return std::nullopt;
}

void add_hidden(Key& key) {
  key.unit = "units";
  key.read = [](Options& options, const Value& value) { return read_widths(value, options.model.hidden); };
  key.write = [](const Options& options) -> std::optional<Value> {
    Value::List list;
    for (const std::int64_t width : options.model.hidden) list.push_back({width});
    return Value{std::move(list)};
  };
}

}  // namespace

void add_model_keys(Schema& schema) {
  Keys keys(
      schema, "model", "The network.", [](auto& options) -> auto& { return options.model; });
  keys.choice("type", &ModelOptions::type, Words<ModelType>{{"mlp", ModelType::mlp}},
              "The kind of network: a multilayer perceptron.");
  Key& hidden =
      keys.add("hidden", fmt::format("list of at most {} integers from 1 to {}", most_layers, largest_width),
               "a ", "Widths of the hidden layers, the one next to the inputs first.");
  add_hidden(hidden);
  keys.finish(hidden);
  keys.choice("activation", &ModelOptions::activation,
              Words<Activation>{{"relu", Activation::relu},
                                {"gelu", Activation::gelu},
                                {"gelu_tanh", Activation::gelu_tanh},
                                {"tanh", Activation::tanh},
                                {"silu", Activation::silu},
                                {"none", Activation::none}},
              "What follows each hidden layer.");
  keys.choice("norm", &ModelOptions::norm,
              Words<NormType>{{"none", NormType::none}, {"layernorm", NormType::layernorm}},
              "Normalisation of each hidden layer.");
  keys.number("dropout", &ModelOptions::dropout, {0, true, 1, false}, "",
              "Probability that training drops a hidden activation.");
  keys.choice("loss", &ModelOptions::loss,
              Words<LossType>{{"cross_entropy", LossType::cross_entropy}, {"mse", LossType::mse}},
              "Classification, or regression by the mean squared error.");
  keys.integer("inputs", &ModelOptions::inputs, {0, largest_features}, "features per sample",
               "0: from the data. Needed where there is no data file.");
  keys.integer("outputs", &ModelOptions::outputs, {0, largest_features}, "classes or targets per sample",
               "0: from the data. Needed where there is no data file.");
}

}  // namespace mylos
