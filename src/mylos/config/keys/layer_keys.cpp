// [[model.layers]]: the layers of a network that the deck lists individually.
#include "mylos/config/schema/axes_type.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/type_words.hpp"

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

constexpr double max_setting = 3e38;  // blocks compute in float

/// Numbers by name. An empty table is not written.
ValueType<std::map<std::string, double>> settings_type() {
  const ValueType<double> number = number_type({-max_setting, true, max_setting, true});
  return {"table of numbers",
          "a ",
          {},
          [read = number.read](std::map<std::string, double>& target, const Value& value) -> Found {
            const auto* table = std::get_if<Value::Table>(&value.held);
            if (table == nullptr) return describe(value);
            for (const NamedValue& each : *table) {
              if (!is_name(each.name)) return fmt::format("a table with the name \"{}\"", each.name);
              if (read(target[each.name], each.value))
                return fmt::format("a table whose '{}' is {}", each.name, describe(each.value));
            }
            return std::nullopt;
          },
          [write = number.write](const std::map<std::string, double>& settings) -> std::optional<Value> {
            if (settings.empty()) return std::nullopt;
            Value::Table table;
            for (const auto& [name, value] : settings) table.push_back({name, *write(value)});
            return Value{std::move(table)};
          }};
}

}  // namespace

void add_layer_keys(Key& layers) {
  using enum LayerKind;
  auto keys = tables_of(
      layers, [](auto& options) -> auto& { return options.model.chain; },
      {.noun = "layer", .meaning = layers_introduction}, max_layers);
  Key& kind = keys.choice("kind", &LayerOptions::kind, words_of<LayerKind>(layer_traits),
                          "The kind of layer. Required.");
  kind.require();
  const auto of_kinds = [&kind](std::initializer_list<LayerKind> kinds) {
    std::vector<std::string> names;
    for (const LayerKind each : kinds) names.emplace_back(name_of(each));
    return with(kind, std::move(names));
  };
  keys.text("name", &LayerOptions::name, is_name, "name",
            "The layer's name in rules, checkpoints and 'skip_from'. Default: the kind and the layer's "
            "number, \"conv2\".");
  keys.optional_integer("outputs", &LayerOptions::outputs, {1, max_width}, "",
                        "dense: units; for the last layer the default is the number that the data require. "
                        "conv, spectral: channels. Otherwise required.")
      .limit(of_kinds({dense, conv, spectral, custom}));
  keys.boolean("bias", &LayerOptions::bias, "Adds a bias to each channel.").limit(of_kinds({conv, spectral}));
  keys.add("kernel", &LayerOptions::kernel, axes_type(integer_type({1, max_kernel})),
           "Points along each axis.")
      .by_default("conv 1, pools 2")
      .limit(of_kinds({conv, max_pool, average_pool}));
  keys.add("stride", &LayerOptions::stride, axes_type(integer_type({1, max_kernel})),
           "Distance between two positions of the kernel.")
      .by_default("conv 1, pools the kernel")
      .limit(of_kinds({conv, max_pool, average_pool}));
  keys.add("padding", &LayerOptions::padding, axes_type(integer_type({0, max_kernel})),
           "Points added at both edges.")
      .by_default("conv (kernel - 1) * dilation / 2, pools 0")
      .limit(of_kinds({conv, max_pool, average_pool}));
  keys.add("dilation", &LayerOptions::dilation, axes_type(integer_type({1, max_kernel})),
           "Distance between two points of the kernel.")
      .by_default("1")
      .limit(of_kinds({conv}));
  keys.choice("edges", &LayerOptions::edges, padding_words(), "Values outside the grid.")
      .limit(of_kinds({conv}));
  keys.integer("groups", &LayerOptions::groups, {1, max_width}, "",
               "Number of groups of channels that are convolved separately.")
      .limit(of_kinds({conv}));
  keys.boolean("transposed", &LayerOptions::transposed,
               "Computes the adjoint: a stride of 2 then doubles each extent.")
      .limit(of_kinds({conv}));
  keys.add("factor", &LayerOptions::factor, axes_type(integer_type({1, max_kernel})),
           "Factor by which the number of points grows along each axis.")
      .by_default("2")
      .limit(of_kinds({upsample}));
  keys.add("modes", &LayerOptions::modes, axes_type(integer_type({1, max_modes})),
           "Wave numbers that each axis keeps, at most its points: of 12 those from -6 to 5, of 5 from -2 to "
           "2; the last axis 0 to 6, and 0 to 2. Required.")
      .limit(of_kinds({spectral}));
  keys.choice("between", &LayerOptions::between,
              Words<Between>{{"nearest", Between::nearest}, {"linear", Between::linear}},
              "Interpolation of new points.")
      .limit(of_kinds({upsample}));
  keys.text("skip_from", &LayerOptions::skip_from, is_name, "name",
            "The earlier layer whose output is added (add), concatenated (concat) or used as input (branch; "
            "the branch's own input is for a later layer); \"input\": the network's input. Required.")
      .limit(of_kinds({add, concat, branch}));
  keys.boolean("skip_first", &LayerOptions::skip_first,
               "Puts the channels of the layer in 'skip_from' before those of the input, as PyTorch's "
               "`cat([skip, x])`, not after them.")
      .limit(of_kinds({concat}));
  keys.boolean("gated", &LayerOptions::gated,
               "Multiplies each channel of the layer in 'skip_from' by a trained factor, which is 1 at first "
               "(soft gating).")
      .limit(of_kinds({add}));
  keys.add("margin", &LayerOptions::margin, axes_type(number_type({0, true, 1, true})),
           "Points of zeros added at both ends of an axis, per point of the grid: 0.25 adds 16 at both ends "
           "of 64. Required.")
      .limit(of_kinds({pad}));
  keys.text("like", &LayerOptions::like, is_name, "name",
            "The earlier layer whose grid the result has; the crop takes the middle of its input. \"input\": "
            "the network's input. Required.")
      .limit(of_kinds({crop}));
  keys.text("layer", &LayerOptions::custom, is_name, "name",
            "A layer of the program that reads the deck, by its name there "
            "(docs/how-to/custom-layers.md). Required.")
      .limit(of_kinds({custom}))
      .require();
  keys.add("settings", &LayerOptions::settings, settings_type(),
           "Numbers that the program's layer reads, by the names that it gives them: `{ speed = 0.5 }`.")
      .limit(of_kinds({custom}));
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
