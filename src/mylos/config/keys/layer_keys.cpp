#include "mylos/config/keys/layer_keys.hpp"

#include <functional>

#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_axes = 3;

/// One key of a layer's table. `read` returns a description of a value that does not fit.
struct LayerKey {
  std::string name;
  std::string type;
  std::string meaning;
  std::vector<LayerKind> kinds;  // the kinds that have the key; none: all
  std::function<bool(LayerOptions&, const Value&)> read;
  std::function<std::optional<Value>(const LayerOptions&)> write;
};

template <class Enumeration>
std::string words_of(const Words<Enumeration>& words) {
  std::vector<std::string> choices;
  for (const auto& [word, meant] : words) choices.push_back(word);
  return alternatives(choices);
}

const Words<LayerKind>& kind_words() {
  using enum LayerKind;
  static const Words<LayerKind> words = [] {
    Words<LayerKind> all;
    for (const LayerKind kind :
         {dense, conv, max_pool, average_pool, global_pool, upsample, norm, activation, add, concat, branch})
      all.emplace_back(name_of(kind), kind);
    return all;
  }();
  return words;
}

template <class Enumeration>
LayerKey choice_of(std::string name, Enumeration LayerOptions::*field, const Words<Enumeration>& words,
                   std::string meaning, std::vector<LayerKind> kinds) {
  return {std::move(name),
          words_of(words),
          std::move(meaning),
          std::move(kinds),
          [=](LayerOptions& layer, const Value& value) {
            const auto* text = std::get_if<std::string>(&value.held);
            for (const auto& [word, meant] : words) {
              if (text == nullptr || *text != word) continue;
              layer.*field = meant;
              return true;
            }
            return false;
          },
          [=](const LayerOptions& layer) -> std::optional<Value> {
            if (layer.*field == LayerOptions{}.*field) return std::nullopt;
            for (const auto& [word, meant] : words)
              if (layer.*field == meant) return Value{word};
            return std::nullopt;
          }};
}

LayerKey integer_of(std::string name, std::int64_t LayerOptions::*field, IntegerRange range,
                    std::string meaning, std::vector<LayerKind> kinds) {
  return {std::move(name),
          fmt::format("an integer from {} to {}", range.min, range.max),
          std::move(meaning),
          std::move(kinds),
          [=](LayerOptions& layer, const Value& value) {
            const auto* held = std::get_if<std::int64_t>(&value.held);
            if (held == nullptr || *held < range.min || *held > range.max) return false;
            layer.*field = *held;
            return true;
          },
          [=](const LayerOptions& layer) -> std::optional<Value> {
            if (layer.*field == LayerOptions{}.*field) return std::nullopt;
            return Value{layer.*field};
          }};
}

LayerKey per_axis(std::string name, PerAxis LayerOptions::*field, IntegerRange range, std::string meaning,
                  std::vector<LayerKind> kinds) {
  return {std::move(name),
          fmt::format("an integer from {} to {}, or a list of them for each axis", range.min, range.max),
          std::move(meaning),
          std::move(kinds),
          [=](LayerOptions& layer, const Value& value) {
            const auto* list = std::get_if<Value::List>(&value.held);
            const Value::List numbers = list != nullptr ? *list : Value::List{value};
            if (numbers.empty() || numbers.size() > max_axes) return false;
            (layer.*field).clear();
            for (const Value& number : numbers) {
              const auto* held = std::get_if<std::int64_t>(&number.held);
              if (held == nullptr || *held < range.min || *held > range.max) return false;
              (layer.*field).push_back(*held);
            }
            return true;
          },
          [=](const LayerOptions& layer) -> std::optional<Value> {
            const PerAxis& numbers = layer.*field;
            if (numbers.empty()) return std::nullopt;
            if (numbers.size() == 1) return Value{numbers.front()};
            Value::List list;
            for (const std::int64_t number : numbers) list.push_back({number});
            return Value{std::move(list)};
          }};
}

LayerKey text_of(std::string name, std::string LayerOptions::*field, std::string meaning,
                 std::vector<LayerKind> kinds) {
  return {std::move(name),
          "a name",
          std::move(meaning),
          std::move(kinds),
          [=](LayerOptions& layer, const Value& value) {
            const auto* text = std::get_if<std::string>(&value.held);
            if (text == nullptr || !is_name(*text)) return false;
            layer.*field = *text;
            return true;
          },
          [=](const LayerOptions& layer) -> std::optional<Value> {
            if ((layer.*field).empty()) return std::nullopt;
            return Value{layer.*field};
          }};
}

LayerKey boolean_of(std::string name, bool LayerOptions::*field, std::string meaning,
                    std::vector<LayerKind> kinds) {
  return {std::move(name),
          "true or false",
          std::move(meaning),
          std::move(kinds),
          [=](LayerOptions& layer, const Value& value) {
            const auto* held = std::get_if<bool>(&value.held);
            if (held != nullptr) layer.*field = *held;
            return held != nullptr;
          },
          [=](const LayerOptions& layer) -> std::optional<Value> {
            if (layer.*field == LayerOptions{}.*field) return std::nullopt;
            return Value{layer.*field};
          }};
}

LayerKey number_of(std::string name, double LayerOptions::*field, NumberRange range, std::string meaning,
                   std::vector<LayerKind> kinds) {
  return {std::move(name),
          fmt::format("a number {}", range.text()),
          std::move(meaning),
          std::move(kinds),
          [=](LayerOptions& layer, const Value& value) {
            const auto number = number_in(value);
            if (!number || !range.holds(*number) || !range.out_of_range_in_float(*number).empty())
              return false;
            layer.*field = *number;
            return true;
          },
          [=](const LayerOptions& layer) -> std::optional<Value> {
            if (layer.*field == LayerOptions{}.*field) return std::nullopt;
            return Value{layer.*field};
          }};
}

const std::vector<LayerKey>& layer_keys() {
  using enum LayerKind;
  static const std::vector<LayerKey> keys{
      choice_of("kind", &LayerOptions::kind, kind_words(), "The kind of layer. Required.", {}),
      text_of("name", &LayerOptions::name,
              "The layer's name in rules, checkpoints and 'skip_from'. Default: the kind and the layer's "
              "number, \"conv2\".",
              {}),
      integer_of("outputs", &LayerOptions::outputs, {1, max_width},
                 "dense: units; for the last layer the default is the number that the data require. conv: "
                 "channels. Otherwise required.",
                 {dense, conv}),
      boolean_of("bias", &LayerOptions::bias, "Default true.", {conv}),
      per_axis("kernel", &LayerOptions::kernel, {1, max_kernel},
               "Points along each axis. Default: conv 1, pools 2.", {conv, max_pool, average_pool}),
      per_axis("stride", &LayerOptions::stride, {1, max_kernel}, "Default: conv 1, pools the kernel.",
               {conv, max_pool, average_pool}),
      per_axis("padding", &LayerOptions::padding, {0, max_kernel},
               "Points added at both edges. Default: conv (kernel - 1) * dilation / 2, pools 0.",
               {conv, max_pool, average_pool}),
      per_axis("dilation", &LayerOptions::dilation, {1, max_kernel}, "Default 1.", {conv}),
      choice_of("edges", &LayerOptions::edges, padding_words(), "Values outside the grid. Default \"zero\".",
                {conv}),
      integer_of("groups", &LayerOptions::groups, {1, max_width},
                 "Number of groups of channels that are convolved separately. Default 1.", {conv}),
      boolean_of("transposed", &LayerOptions::transposed,
                 "Computes the adjoint: a stride of 2 then doubles each extent. Default false.", {conv}),
      per_axis("factor", &LayerOptions::factor, {1, max_kernel},
               "Factor by which the number of points grows along each axis. Default 2.", {upsample}),
      choice_of("between", &LayerOptions::between,
                Words<Between>{{"nearest", Between::nearest}, {"linear", Between::linear}},
                "Interpolation of new points. Default \"nearest\".", {upsample}),
      text_of(
          "skip_from", &LayerOptions::skip_from,
          "The earlier layer whose output is added (add), concatenated (concat) or used as input (branch; "
          "the branch's own input is for a later layer); \"input\": the network's input. Required.",
          {add, concat, branch}),
      choice_of("norm", &LayerOptions::norm,
                Words<NormType>{{"none", NormType::none},
                                {"layernorm", NormType::layernorm},
                                {"rmsnorm", NormType::rmsnorm},
                                {"groupnorm", NormType::groupnorm},
                                {"batchnorm", NormType::batchnorm}},
                "Normalisation of a vector's features, or of each grid point's channels; groupnorm: of "
                "groups of channels over the complete grid; batchnorm: of each feature or channel over the "
                "samples. Default \"none\".",
                {}),
      integer_of("norm_groups", &LayerOptions::norm_groups, {1, max_width},
                 "groupnorm: number of groups; it must divide the channels. Default 8.", {}),
      choice_of("norm_over", &LayerOptions::norm_over,
                Words<NormOver>{{"micro_batch", NormOver::micro_batch}, {"ranks", NormOver::ranks}},
                "batchnorm: statistics over the samples of a rank's micro-batch, or over those of all ranks. "
                "Default \"micro_batch\".",
                {}),
      number_of("norm_momentum", &LayerOptions::norm_momentum, {0, false, 1, true},
                "batchnorm: the weight of a step's samples in the running statistics, which evaluations use. "
                "Default 0.1.",
                {}),
      choice_of("activation", &LayerOptions::activation,
                Words<Activation>{{"relu", Activation::relu},
                                  {"gelu", Activation::gelu},
                                  {"gelu_tanh", Activation::gelu_tanh},
                                  {"tanh", Activation::tanh},
                                  {"silu", Activation::silu},
                                  {"none", Activation::none}},
                "Default \"none\".", {}),
      number_of("dropout", &LayerOptions::dropout, {0, true, 1, false},
                "Probability that training drops an element after the activation.", {}),
      integer_of("repeat", &LayerOptions::repeat, {1, max_layers},
                 "Number of copies of the layer in sequence, named \"NAME.1\", \"NAME.2\". Default 1.", {})};
  return keys;
}

const LayerKey* find(const std::string& name) {
  for (const LayerKey& key : layer_keys())
    if (key.name == name) return &key;
  return nullptr;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const LayerKey& key : layer_keys()) names.push_back(key.name);
  return names;
}

bool has(const LayerKey& key, LayerKind kind) {
  return key.kinds.empty() || std::find(key.kinds.begin(), key.kinds.end(), kind) != key.kinds.end();
}

/// Returns the norm that a key belongs to; empty: all.
std::string_view norm_of_key(std::string_view key) {
  if (key == "norm_groups") return name_of(NormType::groupnorm);
  return key == "norm_over" || key == "norm_momentum" ? name_of(NormType::batchnorm) : "";
}

/// Reads the layer, or returns the error, worded to follow "layer 3".
std::optional<std::string> read_layer(const Value& value, LayerOptions& layer) {
  const auto* table = std::get_if<Value::Table>(&value.held);
  if (table == nullptr) return "as " + describe(value);
  const auto is_kind = [](const NamedValue& member) { return member.name == "kind"; };
  const auto kind = std::find_if(table->begin(), table->end(), is_kind);
  if (kind == table->end()) return fmt::format("without 'kind', which is one of {}", words_of(kind_words()));
  for (const NamedValue& member : *table) {
    const LayerKey* key = find(member.name);
    if (key == nullptr) {
      const auto near = nearest(member.name, all_names(), 1 + member.name.size() / 4);
      return fmt::format("with '{}'{}", printable(member.name),
                         near ? fmt::format("; did you mean '{}'?", *near)
                              : fmt::format(", which is none of {}", alternatives(all_names())));
    }
    const bool is_read = key->read(layer, member.value);
    if (!is_read)
      return fmt::format("with {} = {}, which must be {}", member.name, to_toml(member.value), key->type);
  }
  for (const NamedValue& member : *table) {
    if (!has(*find(member.name), layer.kind))
      return fmt::format("with '{}', which the kind \"{}\" does not have", member.name, name_of(layer.kind));
    const std::string_view norm = norm_of_key(member.name);
    if (!norm.empty() && norm != name_of(layer.norm))
      return fmt::format("with '{}', which only norm = \"{}\" has", member.name, norm);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_layers(const Value& value, std::vector<LayerOptions>& layers) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  for (const Value& element : *list) {
    if (layers.size() == static_cast<std::size_t>(max_layers)) return fmt::format("more than {}", max_layers);
    LayerOptions layer;
    if (const auto found = read_layer(element, layer))
      return fmt::format("layer {} {}", layers.size() + 1, *found);
    layers.push_back(std::move(layer));
  }
  return std::nullopt;
}

Value layers_value(const std::vector<LayerOptions>& layers) {
  Value::List list;
  for (const LayerOptions& layer : layers) {
    Value::Table table;
    for (const LayerKey& key : layer_keys()) {
      if (key.name == "kind") {
        table.push_back({"kind", Value{std::string(name_of(layer.kind))}});
      } else if (auto value = key.write(layer)) {
        table.push_back({key.name, *std::move(value)});
      }
    }
    list.push_back({std::move(table)});
  }
  return {std::move(list)};
}

std::string layers_manual() {
  std::string text;
  for (const LayerKey& key : layer_keys()) {
    std::vector<std::string> kinds;
    for (const LayerKind kind : key.kinds) kinds.emplace_back(name_of(kind));
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.type,
                        kinds.empty() ? "all" : alternatives(kinds), key.meaning);
  }
  return text;
}

}  // namespace mylos
