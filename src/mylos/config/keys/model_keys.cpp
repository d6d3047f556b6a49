// [model].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/own_keys.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/axes_type.hpp"
#include "mylos/config/schema/types/edges_type.hpp"
#include "mylos/config/schema/types/type_words.hpp"

namespace mylos {
namespace {

ValueType<std::vector<std::int64_t>> widths_type() {
  return list_type(integer_type({1, max_width}),
                   {.text = fmt::format("list of at most {} integers from 1 to {}", max_layers, max_width),
                    .max = max_layers});
}

template <class ModelKeys>
void add_short_form_keys(ModelKeys& keys) {
  keys.add(
      "channels", &ModelOptions::channels, or_none(widths_type()),
      "Channels. cnn: of each convolution. resnet: of each stage. unet: of each level, the finest first. "
      "Required. These types are short forms: the run's resolved deck lists their layers.",
      "channels");
  keys.integer(
      "blocks", &ModelOptions::blocks, {1, max_layers}, "",
      "resnet: number of residual blocks per stage, each of two convolutions. unet: number of "
      "convolutions per level. fno: number of Fourier blocks, by default 4. vit: number of blocks of "
      "attention and MLP, by default 6.");
  keys.integer("kernel", &ModelOptions::kernel, {1, max_kernel}, "points",
               "cnn, resnet, unet: extent of the convolutions' kernels along each axis.");
  keys.add("edges", &ModelOptions::edges, edges_type(),
           "cnn, resnet, unet: the values that convolutions read outside the grid. periodic: the grid "
           "repeated. reflect: the grid mirrored at its outermost points. pole: on a grid of latitudes "
           "and longitudes, the rows of the opposite meridian; of cell centres, so that no row lies on the "
           "pole; the axis of longitudes is then periodic and has an even number of points. By axis: a list "
           "in the order of the grid's axes, or with data.arrays.axes a table, { lon = \"periodic\", lat = "
           "\"pole\" }, with zeros along other axes.");
  keys.add(
      "conv_bias", &ModelOptions::conv_bias, boolean_type(),
      "cnn, resnet, unet: convolutions before `norm` have biases. Default: false before batchnorm, which "
      "would remove them, otherwise true.");
  keys.boolean("skip_first", &ModelOptions::skip_first,
               "unet: on the way up, the channels of the level's own convolutions come before those of the "
               "level below, as in PyTorch's `cat([skip, up])`, not after them.");
  keys.integer(
      "fields", &ModelOptions::fields, {0, max_width}, "channels",
      "unet, fno, vit: channels of the output at each point. vit: 0: the outputs are those of a dense "
      "layer of the mean over all patches, for classes or for targets of a sample; the default with "
      "model.loss = \"cross_entropy\".");
}

/// The defaults are those of neuraloperator's FNO.
template <class ModelKeys>
void add_operator_keys(ModelKeys& keys) {
  keys.add(
      "modes", &ModelOptions::modes, axes_type(integer_type({1, max_modes})),
      "fno: wave numbers that the spectral layers keep along each axis, as `modes` of a layer. Required.");
  keys.number("lifting", &ModelOptions::lifting, {0, false, 1000, true}, "",
              "fno: hidden channels of the lifting, per channel of `width`.");
  keys.number("projection", &ModelOptions::projection, {0, false, 1000, true}, "",
              "fno: hidden channels of the projection, per channel of `width`.");
  keys.number(
      "channel_mlp", &ModelOptions::channel_mlp, {0, true, 1000, true}, "",
      "fno, vit: hidden channels of the channel MLP of a block, per channel of `width`; vit: by default 4. "
      "fno: 0: no channel MLP.");
  keys.add("padding", &ModelOptions::padding, axes_type(number_type({0, true, 1, true})),
           "fno: for fields that are not periodic: points of zeros at both ends of an axis, per point of the "
           "grid, while the Fourier blocks compute. Default: none.");
  keys.boolean(
      "coordinates", &ModelOptions::coordinates,
      "fno: appends the position of each point to the input, one channel per axis, from 0 to below 1.");
}

template <class ModelKeys>
void add_transformer_keys(ModelKeys& keys) {
  keys.add("patch", &ModelOptions::patch, axes_type(integer_type({1, max_kernel})),
           "vit: points of a patch along each axis: patches are the tokens of the transformer. They should "
           "divide the extents of the grid; 1 makes each point a token. Required.");
  add_layer_keys(keys.optional_integer(
      "layers", &ModelOptions::layers, {1, max_layers}, "",
      "gpt: number of layers, each of attention and a feed-forward part. Required. chain: the network, one "
      "table [[model.layers]] per layer, as below. Required."));
  keys.optional_integer("heads", &ModelOptions::heads, {1, max_width}, "",
                        "gpt, vit: number of attention heads; it must divide the width. Required.");
  keys.optional_integer("width", &ModelOptions::width, {1, max_width}, "",
                        "gpt: features per token. fno, vit: channels of the blocks. Required.");
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

/// Returns the condition that networks of these types, which use the key in hidden layers only, have any.
Condition with_hidden_layers(std::vector<ModelType> types) {
  return {
      "hidden layers (model.hidden)", {"model.hidden"}, [types = std::move(types)](const Options& options) {
        const bool needs_them = std::find(types.begin(), types.end(), options.model.type) != types.end();
        return !needs_them || !options.model.hidden.empty();
      }};
}

Condition with_norm_of_hidden_layers() {
  return {"hidden layers (model.hidden) and model.norm",
          {"model.hidden", "model.norm"},
          [](const Options& options) {
            return !options.model.hidden.empty() && options.model.norm != NormType::none;
          }};
}

/// Adds what networks of numbers have in common: their sizes, what their outputs are, the loss and the keys
/// that losses have of their own.
std::vector<std::string> with_loss(std::vector<std::string> keys) {
  for (const char* key :
       {"inputs", "outputs", "residual", "nonnegative", "nonnegative_form", "loss", "terms"})
    keys.emplace_back(key);
  for (std::string& own : names_of_own_keys(static_cast<const Loss*>(nullptr)))
    keys.push_back(std::move(own));
  return keys;
}

}  // namespace

const std::vector<std::string>& model_keys_of(ModelType type) {
  static const std::vector<std::string> mlp =
      with_loss({"hidden", "activation", "norm", "norm_first", "dropout"});
  static const std::vector<std::string> gpt{"layers",     "heads",     "width",  "context",
                                            "vocabulary", "positions", "tied",   "feed_forward",
                                            "bias",       "norm",      "dropout"};
  static const std::vector<std::string> chain = with_loss({"layers", "loss_per", "derivative"});
  static const std::vector<std::string> cnn =
      with_loss({"conv_bias", "channels", "kernel", "edges", "hidden", "activation", "norm", "dropout"});
  static const std::vector<std::string> resnet =
      with_loss({"conv_bias", "channels", "blocks", "kernel", "edges", "activation", "norm", "dropout"});
  static const std::vector<std::string> unet =
      with_loss({"conv_bias", "skip_first", "channels", "blocks", "kernel", "edges", "fields", "activation",
                 "norm", "dropout", "loss_per", "derivative"});
  static const std::vector<std::string> fno =
      with_loss({"modes", "width", "blocks", "fields", "lifting", "projection", "channel_mlp", "padding",
                 "coordinates", "activation", "norm", "loss_per", "derivative"});
  static const std::vector<std::string> vit =
      with_loss({"patch", "width", "heads", "blocks", "fields", "channel_mlp", "activation", "norm",
                 "dropout", "loss_per", "derivative"});
  static const std::vector<std::string>* const all[] = {&mlp, &gpt, &chain, &cnn, &resnet, &unet, &fno, &vit};
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
      "that the deck lists, or a short form of one: a convolutional network, a residual network, a U-Net, a "
      "Fourier neural operator, a vision transformer.");
  keys.add("hidden", &ModelOptions::hidden, widths_type(),
           "mlp, cnn: widths of the hidden dense layers, from the inputs on.", "units");
  keys.choice(
      "activation", &ModelOptions::activation, activation_words(),
      "Activation function of each hidden layer or convolution. A hidden layer of an mlp computes "
      "linear, `activation`, `dropout`, `norm` in this order, or with `norm_first` linear, `norm`, "
      "`activation`, `dropout`. fno: default gelu; the last block has none. vit: of the MLPs, default "
      "gelu.");
  keys.choice(
      "norm", &ModelOptions::norm,
      names_of(
          {NormType::none, NormType::layernorm, NormType::rmsnorm, NormType::groupnorm, NormType::batchnorm}),
      "Normalisation. mlp: of each hidden layer's results, after activation and dropout (`norm_first`). gpt: "
      "of the "
      "inputs of each part of a layer and of the classifier; default layernorm. cnn, resnet, unet: "
      "of each convolution's results, before its activation; default batchnorm, for unet groupnorm. "
      "fno: of the results of each spectral layer and of each block, default none; groupnorm has one group. "
      "vit: of the inputs of each part of a block and of the head, default layernorm. "
      "mlp and gpt do not support groupnorm and batchnorm.");
  keys.boolean("norm_first", &ModelOptions::norm_first,
               "mlp: a hidden layer normalises before its activation, as PyTorch's `Sequential(Linear, "
               "LayerNorm, ReLU)` and the layers of a chain do, not after it.");
  keys.number(
      "dropout", &ModelOptions::dropout, {0, true, 1, false}, "",
      "Probability that training drops an element and scales the others by 1 / (1 - dropout). mlp: "
      "in the result of each hidden layer's activation. gpt: in the embedding, in attention's "
      "probabilities, and in the contribution of each part of a layer. cnn: in the hidden layers. "
      "resnet: in the head's input. unet: after each convolution of a level. vit: of the positions' results, "
      "of the MLPs' hidden channels, and in the contribution of each part of a block.");
  add_loss_keys(schema);
  add_term_keys(keys.add("terms", "", "",
                         "The losses of a sum, which may read different channels: `[[model.terms]]`, `loss = "
                         "\"relative_h1\"`, `channels = [0, 1]`, `weight = 0.1`, as below. Gradients are "
                         "added, and the loss of a run is the sum."));
  keys.integer("inputs", &ModelOptions::inputs, {0, max_features}, "features per sample",
               "All but gpt: 0: from the data. Needed where there is no data file.");
  keys.integer("outputs", &ModelOptions::outputs, {0, max_features}, "classes or targets per sample",
               "All but gpt: 0: from the data. Needed where there is no data file.");
  keys.boolean(
      "residual", &ModelOptions::residual,
      "All but gpt: adds the network's input to its output, so that the network learns the change "
      "from one state of a field to the next. Both must have the same shape. They are added in "
      "float, in normalised units (`docs/how-to/networks.md`). Not with model.loss = \"gaussian\" or "
      "\"quantile\", whose last layer computes several numbers for each output.");
  keys.add("nonnegative", &ModelOptions::nonnegative,
           or_none(list_type(text_type(is_path, "name"), {.text = "list of names", .distinct = true})),
           "All but gpt: targets whose outputs are at least 0 in the units of the data, by the names that "
           "`variables` of `[[model.terms]]` takes: `[\"/rain\"]`. `data.normalize` only scales them, "
           "and does not shift them.");
  keys.choice(
      "nonnegative_form", &ModelOptions::nonnegative_form,
      Words<NonnegativeForm>{{"softplus", NonnegativeForm::softplus}, {"relu", NonnegativeForm::relu}},
      "softplus: log(1 + exp(x)) of the network's number x, in units after `data.normalize`: above 0, "
      "with a gradient everywhere. relu: the larger of x and 0, which also gives 0.");
  add_short_form_keys(keys);
  add_operator_keys(keys);
  add_transformer_keys(keys);
  add_initialize_keys(
      keys.add("initialize", "", "",
               "Distributions of initial values by parameter name: `[[model.initialize]]`, `match = "
               "\"conv*/weight\"`, `kind = \"he_normal\"`, as below. The last matching table applies; other "
               "parameters use their layer's default. `docs/reference/formulas.md` has the formulas of both. "
               "The values "
               "do not depend on the number of ranks."));
  keys.limit_to_types(model_keys_of);
  keys.only_with({"activation", "norm"}, with_hidden_layers({ModelType::mlp}));
  keys.only_with({"norm_first"}, with_norm_of_hidden_layers());
  keys.only_with({"dropout"}, with_hidden_layers({ModelType::mlp, ModelType::cnn}));
  keys.only_with({"terms"}, with("model.loss", {"sum"}));
  keys.only_with({"residual", "nonnegative"}, with("model.loss", losses_of(Prediction::numbers)));
  keys.only_with({"nonnegative_form"}, with_given("model.nonnegative"));
}

}  // namespace mylos
