// [model].
#include "mylos/config/keys/initialize_key.hpp"
#include "mylos/config/keys/layer_keys.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

/// Reads the widths, or returns a description of the value that is not a width.
std::optional<std::string> read_widths(const Value& value, std::vector<std::int64_t>& widths) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  if (list->size() > max_layers) return fmt::format("a list of {}", list->size());
  widths.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* width = std::get_if<std::int64_t>(&(*list)[i].held);
    if (width == nullptr || *width < 1 || *width > max_width) {
      return fmt::format("{} at place {}", describe((*list)[i]), i + 1);
    }
    widths.push_back(*width);
  }
  return std::nullopt;
}

void fill_widths(Key& key, std::vector<std::int64_t> ModelOptions::*widths, const char* unit) {
  key.unit = unit;
  key.read = [widths](Options& options, const Value& value) {
    return read_widths(value, options.model.*widths);
  };
  key.write = [widths](const Options& options) -> std::optional<Value> {
    Value::List list;
    for (const std::int64_t width : options.model.*widths) list.push_back({width});
    return Value{std::move(list)};
  };
}

template <class ModelKeys>
void add_short_form_keys(ModelKeys& keys, const std::string& widths) {
  Key& channels =
      keys.add("channels", widths, "a ",
               "Channels. cnn: of each convolution. resnet: of each stage. unet: of each level, the finest "
               "first. Required. These types are short forms: the run's resolved deck lists their layers.");
  fill_widths(channels, &ModelOptions::channels, "channels");
  channels.default_text = "none";
  keys.integer("blocks", &ModelOptions::blocks, {1, max_layers}, "",
               "resnet: number of residual blocks per stage, each of two convolutions. unet: number of "
               "convolutions per level.");
  keys.integer("kernel", &ModelOptions::kernel, {1, max_kernel}, "points",
               "cnn, resnet, unet: extent of the convolutions' kernels along each axis.");
  keys.choice("edges", &ModelOptions::edges, padding_words(),
              "cnn, resnet, unet: the values that convolutions read outside the grid.");
  keys.integer("fields", &ModelOptions::fields, {1, max_width}, "channels",
               "unet: channels of the output at each point.");
}

template <class ModelKeys>
void add_transformer_keys(ModelKeys& keys) {
  keys.optional_integer("layers", &ModelOptions::layers, {1, max_layers}, "",
                        "gpt: number of layers, each of attention and a feed-forward part. Required. chain: "
                        "the network, one table [[model.layers]] per layer, as below. Required.");
  keys.optional_integer("heads", &ModelOptions::heads, {1, max_width}, "",
                        "gpt: number of attention heads; it must divide the width. Required.");
  keys.optional_integer("width", &ModelOptions::width, {1, max_width}, "",
                        "gpt: features per token. Required.");
  keys.optional_integer("context", &ModelOptions::context, {1, max_context}, "tokens",
                        "gpt: tokens per sample, which is also the maximum number of tokens that a "
                        "prediction depends on. Required.");
  keys.integer("vocabulary", &ModelOptions::vocabulary, {0, max_vocabulary}, "tokens",
               "gpt: 0: from the data. A larger vocabulary than the data's pads the classifier; multiples of "
               "128 make its GEMMs fast. Padding classes get no probability in evaluations; in training the "
               "network learns that they never occur.");
  keys.choice("positions", &ModelOptions::positions,
              Words<PositionType>{{"learned", PositionType::learned}, {"rotary", PositionType::rotary}},
              "gpt: a learned vector per position, or rotation of queries and keys.");
  keys.boolean("tied", &ModelOptions::tied, "gpt: the classifier's weights are the token embedding.");
  keys.choice("feed_forward", &ModelOptions::feed_forward,
              Words<FeedForwardType>{{"gelu", FeedForwardType::gelu}, {"swiglu", FeedForwardType::swiglu}},
              "gpt: the feed-forward part. gelu: hidden width 4 `width`, with the tanh form of gelu, as in "
              "GPT-2; swiglu: gated, hidden width 8/3 `width`, rounded up to a multiple of 64.");
  keys.boolean("bias", &ModelOptions::bias, "gpt: linear layers and layer normalisation have biases.");
}

/// Makes the key accept the number of a transformer's layers or the layers of a chain.
void accept_layer_tables(Key& key) {
  key.type = fmt::format("integer from 1 to {}, or tables [[model.layers]]", max_layers);
  key.is_table_list = true;
  key.clear = [](Options& options) { options.model.chain.clear(); };
  key.read = [read = key.read](Options& options, const Value& value) -> std::optional<std::string> {
    if (std::holds_alternative<Value::List>(value.held)) return read_layers(value, options.model.chain);
    return read(options, value);
  };
  key.write = [write = key.write](const Options& options) -> std::optional<Value> {
    if (options.model.type != ModelType::chain) return write(options);
    if (options.model.chain.empty()) return std::nullopt;
    return layers_value(options.model.chain);
  };
}

Words<LossType> losses() {
  Words<LossType> words;
  for (const LossType loss : {LossType::cross_entropy, LossType::mse, LossType::l1, LossType::huber,
                              LossType::relative_l2, LossType::binary_cross_entropy})
    words.emplace_back(name_of(loss), loss);
  return words;
}

void add_class_weights(Key& key) {
  constexpr NumberRange range{0, false, 1e30, true};
  key.read = [range](Options& options, const Value& value) -> std::optional<std::string> {
    const auto* list = std::get_if<Value::List>(&value.held);
    if (list == nullptr) return describe(value);
    std::vector<double> weights;
    for (const Value& entry : *list) {
      const auto weight = number_in(entry);
      if (!weight || !range.holds(*weight) || !range.out_of_range_in_float(*weight).empty())
        return fmt::format("{} at place {}", describe(entry), weights.size() + 1);
      weights.push_back(*weight);
    }
    options.model.class_weights = std::move(weights);
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    if (options.model.class_weights.empty()) return std::nullopt;
    Value::List list;
    for (const double weight : options.model.class_weights) list.push_back({weight});
    return Value{std::move(list)};
  };
  key.default_text = "none";
}

/// Returns the condition that networks of these types, which use the key in hidden layers only, have any.
Condition with_hidden_layers(std::vector<ModelType> types) {
  return {
      "hidden layers (model.hidden)", {"model.hidden"}, [types = std::move(types)](const Options& options) {
        const bool needs_them = std::find(types.begin(), types.end(), options.model.type) != types.end();
        return !needs_them || !options.model.hidden.empty();
      }};
}

}  // namespace

const std::vector<std::string>& model_keys_of(ModelType type) {
  static const std::vector<std::string> mlp{
      "hidden",      "activation",      "norm",          "dropout", "loss", "inputs", "outputs",
      "huber_delta", "label_smoothing", "class_weights", "residual"};
  static const std::vector<std::string> gpt{"layers",     "heads",     "width",  "context",
                                            "vocabulary", "positions", "tied",   "feed_forward",
                                            "bias",       "norm",      "dropout"};
  static const std::vector<std::string> chain{"layers",        "loss",   "huber_delta", "label_smoothing",
                                              "class_weights", "inputs", "outputs",     "residual"};
  static const std::vector<std::string> cnn{
      "channels",    "kernel",          "edges",         "hidden",  "activation", "norm",    "loss",
      "huber_delta", "label_smoothing", "class_weights", "dropout", "inputs",     "outputs", "residual"};
  static const std::vector<std::string> resnet{
      "channels",    "blocks",          "kernel",        "edges",   "activation", "norm",    "loss",
      "huber_delta", "label_smoothing", "class_weights", "dropout", "inputs",     "outputs", "residual"};
  static const std::vector<std::string> unet{
      "channels",    "blocks",          "kernel",        "edges",   "fields", "activation", "norm",    "loss",
      "huber_delta", "label_smoothing", "class_weights", "dropout", "inputs", "outputs",    "residual"};
  static const std::vector<std::string>* const all[] = {&mlp, &gpt, &chain, &cnn, &resnet, &unet};
  return *all[static_cast<std::size_t>(type)];
}

void add_model_keys(Schema& schema) {
  Keys keys(
      schema, "model", "The network.", [](auto& options) -> auto& { return options.model; });
  Words<ModelType> types;
  for (const ModelType type : model_types) types.emplace_back(name_of(type), type);
  keys.choice(
      "type", &ModelOptions::type, std::move(types),
      "The kind of network: a multilayer perceptron, a decoder-only transformer on tokens, a chain of layers "
      "that the deck lists, or a short form of one: a convolutional network, a residual network, a U-Net.");
  const std::string widths = fmt::format("list of at most {} integers from 1 to {}", max_layers, max_width);
  Key& hidden =
      keys.add("hidden", widths, "a ", "mlp, cnn: widths of the hidden dense layers, from the inputs on.");
  fill_widths(hidden, &ModelOptions::hidden, "units");
  keys.finish(hidden);
  keys.choice("activation", &ModelOptions::activation,
              Words<Activation>{{"relu", Activation::relu},
                                {"gelu", Activation::gelu},
                                {"gelu_tanh", Activation::gelu_tanh},
                                {"tanh", Activation::tanh},
                                {"silu", Activation::silu},
                                {"none", Activation::none}},
              "Activation function of each hidden layer or convolution. A hidden layer of an mlp computes "
              "linear, `activation`, `dropout`, `norm` in this order.");
  keys.choice("norm", &ModelOptions::norm,
              Words<NormType>{{"none", NormType::none},
                              {"layernorm", NormType::layernorm},
                              {"rmsnorm", NormType::rmsnorm},
                              {"groupnorm", NormType::groupnorm},
                              {"batchnorm", NormType::batchnorm}},
              "Normalisation. mlp: of each hidden layer's results, after activation and dropout. gpt: of the "
              "inputs of each part of a layer and of the classifier; default layernorm. cnn, resnet, unet: "
              "of each convolution's results, before its activation; default batchnorm, for unet groupnorm. "
              "mlp and gpt do not support groupnorm and batchnorm.");
  keys.number("dropout", &ModelOptions::dropout, {0, true, 1, false}, "",
              "Probability that training drops an element and scales the others by 1 / (1 - dropout). mlp: "
              "in the result of each hidden layer's activation. gpt: in the embedding, in attention's "
              "probabilities, and in the contribution of each part of a layer. cnn: in the hidden layers. "
              "resnet: in the head's input. unet: after each convolution of a level.");
  keys.choice(
      "loss", &ModelOptions::loss, losses(),
      "All but gpt: the loss to minimise, a mean over samples. For classes: cross_entropy. For targets: mse "
      "(mean squared error), l1 (mean absolute error), huber (quadratic up to `huber_delta`, linear beyond), "
      "relative_l2 (the error's norm divided by the targets'), and binary_cross_entropy, whose targets are "
      "probabilities from 0 to 1 and whose outputs are logits.");
  keys.number("huber_delta", &ModelOptions::huber_delta, {0, false, 1e30, true}, "",
              "huber: the error of normalised targets above which the loss is linear.");
  keys.number("label_smoothing", &ModelOptions::label_smoothing, {0, true, 1, false}, "",
              "cross_entropy: the part of the label's probability that is distributed over all classes.");
  Key& weights = keys.add(
      "class_weights", "list of numbers above 0", "a ",
      "cross_entropy: the weight of each class's samples in the loss, one number per class. The loss remains "
      "a mean over samples, not over weights, so that it does not depend on the division of a batch.");
  add_class_weights(weights);
  keys.integer("inputs", &ModelOptions::inputs, {0, max_features}, "features per sample",
               "All but gpt: 0: from the data. Needed where there is no data file.");
  keys.integer("outputs", &ModelOptions::outputs, {0, max_features}, "classes or targets per sample",
               "All but gpt: 0: from the data. Needed where there is no data file.");
  keys.boolean("residual", &ModelOptions::residual,
               "All but gpt: adds the network's input to its output, so that the network learns the change "
               "from one state of a field to the next. Both must have the same shape. They are added in "
               "float, in normalised units (`docs/networks.md`).");
  add_short_form_keys(keys, widths);
  add_transformer_keys(keys);
  accept_layer_tables(*std::find_if(schema.keys.begin(), schema.keys.end(),
                                    [](const Key& key) { return key.path() == "model.layers"; }));
  schema.keys.push_back(initialize_key());
  keys.limit_to_types(model_keys_of);
  keys.only_with({"activation", "norm"}, with_hidden_layers({ModelType::mlp}));
  keys.only_with({"dropout"}, with_hidden_layers({ModelType::mlp, ModelType::cnn}));
  std::vector<std::string> of_targets;
  for (const LossType loss : {LossType::mse, LossType::l1, LossType::huber, LossType::relative_l2})
    of_targets.emplace_back(name_of(loss));
  keys.only_with({"residual"}, with("model.loss", std::move(of_targets)));
  keys.only_with({"huber_delta"}, with("model.loss", {std::string(name_of(LossType::huber))}));
  keys.only_with({"label_smoothing", "class_weights"},
                 with("model.loss", {std::string(name_of(LossType::cross_entropy))}));
}

}  // namespace mylos
