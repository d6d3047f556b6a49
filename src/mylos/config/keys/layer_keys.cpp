// [[model.layers]]: the layers of a network that the deck lists individually.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

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

/// The type of what a deck gives for an option of a layer.
template <class Kind, class Option>
ValueType<Option> type_of(const LayerKey<Kind, Option>& key) {
  [[maybe_unused]] const IntegerRange integers{static_cast<std::int64_t>(key.min),
                                               static_cast<std::int64_t>(key.max)};
  if constexpr (std::is_same_v<Option, bool>) {
    return boolean_type();
  } else if constexpr (std::is_same_v<Option, std::int64_t>) {
    return integer_type(integers);
  } else if constexpr (std::is_same_v<Option, PerAxis>) {
    return axes_type(integer_type(integers));
  } else if constexpr (std::is_same_v<Option, std::vector<double>>) {
    return axes_type(number_type({key.min, true, key.max, true}));
  } else if constexpr (std::is_same_v<Option, std::string>) {
    return text_type(is_name, "name");
  } else if constexpr (std::is_enum_v<Option>) {
    Words<Option> words;
    for (const std::string_view word : key.words) words.emplace_back(word, static_cast<Option>(words.size()));
    return word_type(std::move(words));
  } else {
    return settings_type();
  }
}

/// A key of the options that only layers of some kinds have.
class KeyOfKinds {
 public:
  /// Reads and writes the option of the layer if that is of this kind.
  template <class Kind, class Option>
  void add(const LayerKey<Kind, Option>& key) {
    const ValueType<Option> type = type_of(key);
    kinds_.emplace_back(Kind::traits.name);
    readers_.push_back([type, member = key.member](LayerOptions& layer, const Value& value) -> Found {
      Option held{};
      if (Found found = type.read(held, value)) return found;
      if (auto* kind = std::get_if<Kind>(&layer.kind)) kind->*member = std::move(held);
      return std::nullopt;
    });
    writers_.push_back([type, member = key.member](const LayerOptions& layer) -> std::optional<Value> {
      const auto* kind = std::get_if<Kind>(&layer.kind);
      return kind == nullptr ? std::nullopt : type.write(kind->*member);
    });
    const std::optional<Value> initial = type.write(Kind{}.*key.member);
    defaults_.push_back(initial                  ? to_toml(*initial)
                        : key.by_default.empty() ? "none"
                                                 : std::string(key.by_default));
  }

  [[nodiscard]] Found read(LayerOptions& layer, const Value& value) const {
    for (const auto& read : readers_)
      if (Found found = read(layer, value)) return found;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Value> write(const LayerOptions& layer) const {
    for (const auto& write : writers_)
      if (std::optional<Value> value = write(layer)) return value;
    return std::nullopt;
  }

  [[nodiscard]] const std::vector<std::string>& kinds() const { return kinds_; }
  /// Returns the default, or where kinds differ "conv 1, max_pool and average_pool 2".
  [[nodiscard]] std::string default_text() const {
    std::vector<std::string> different;
    for (const std::string& each : defaults_)
      if (std::find(different.begin(), different.end(), each) == different.end()) different.push_back(each);
    if (different.size() == 1) return different.front();
    std::string text;
    for (const std::string& each : different) {
      std::vector<std::string> kinds;
      for (std::size_t i = 0; i < kinds_.size(); ++i)
        if (defaults_[i] == each) kinds.push_back(kinds_[i]);
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", fmt::join(kinds, " and "), each);
    }
    return text;
  }

 private:
  std::vector<std::string> kinds_;
  std::vector<std::function<Found(LayerOptions&, const Value&)>> readers_;
  std::vector<std::function<std::optional<Value>(const LayerOptions&)>> writers_;
  std::vector<std::string> defaults_;
};

/// Adds the keys that the kinds state of their own options.
template <class LayerKeys>
class KeysOfKinds {
 public:
  explicit KeysOfKinds(LayerKeys& keys) : keys_(keys) {}

  /// `kind`: the key that chooses the layer's kind.
  void add_all(const Key& kind) {
    add_all(std::make_index_sequence<std::variant_size_v<LayerKind>>());
    for (const auto& [name, key] : added_) {
      key.schema->default_text = key.of->default_text();
      key.schema->limit(with(kind, key.of->kinds()));
    }
  }

 private:
  struct Added {
    Key* schema = nullptr;
    std::shared_ptr<KeyOfKinds> of;
  };

  template <std::size_t... i>
  void add_all(std::index_sequence<i...> /*unused*/) {
    const auto add_kind = [this](const auto&... keys) { (add(keys), ...); };
    (std::apply(add_kind, std::variant_alternative_t<i, LayerKind>::keys()), ...);
  }

  template <class Kind, class Option>
  void add(const LayerKey<Kind, Option>& key) {
    Added& added = added_[std::string(key.name)];
    if (added.schema == nullptr) {
      const ValueType<Option> type = type_of(key);
      added.of = std::make_shared<KeyOfKinds>();
      added.schema = &keys_.add(std::string(key.name), type.text, type.article, std::string(key.meaning));
      added.schema->choices = type.choices;
      added.schema->takes_any_text = std::is_same_v<Option, std::string>;
      added.schema->is_required = key.is_required;
      added.schema->read = [of = added.of](Options& options, const Value& value) {
        return of->read(options.model.chain.back(), value);
      };
      added.schema->write = [of = added.of](const Options& options) {
        return of->write(options.model.chain.back());
      };
    }
    added.of->add(key);
  }

  LayerKeys& keys_;
  std::map<std::string, Added> added_;
};

/// The names of the kinds that have a trait.
std::vector<std::string> kinds_with(bool LayerTraits::*trait) {
  std::vector<std::string> names;
  for (const LayerTraits& each : layer_traits)
    if (each.*trait) names.emplace_back(each.name);
  return names;
}

std::string meaning_of_kinds() {
  std::string text = "The kind of layer. Required.";
  for (const LayerTraits& each : layer_traits) text += fmt::format(" {}: {}.", each.name, each.meaning);
  return text;
}

/// Makes a layer of kind `index`, without options of its own.
template <std::size_t... i>
LayerKind made_kind(std::size_t index, std::index_sequence<i...> /*unused*/) {
  LayerKind kind;
  static_cast<void>(((i == index && (kind.emplace<i>(), true)) || ...));
  return kind;
}

/// The words of the kinds.
ValueType<LayerKind> kind_type() {
  Words<std::size_t> words;
  for (const LayerTraits& each : layer_traits) words.emplace_back(each.name, words.size());
  ValueType<std::size_t> index = word_type(std::move(words));
  return {index.text, index.article, index.choices,
          [read = index.read](LayerKind& kind, const Value& value) -> Found {
            std::size_t chosen = 0;
            if (Found found = read(chosen, value)) return found;
            kind = made_kind(chosen, std::make_index_sequence<std::variant_size_v<LayerKind>>());
            return std::nullopt;
          },
          [write = index.write](const LayerKind& kind) { return write(kind.index()); }};
}

}  // namespace

void add_layer_keys(Key& layers) {
  auto keys = tables_of(
      layers, [](auto& options) -> auto& { return options.model.chain; },
      {.noun = "layer", .meaning = layers_introduction}, max_layers);
  Key& kind = keys.add("kind", &LayerOptions::kind, kind_type(), meaning_of_kinds());
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
            "the branch's own input is for a later layer); \"input\": the network's input. Required.")
      .limit(with(kind, kinds_with(&LayerTraits::reads_earlier)));
  KeysOfKinds(keys).add_all(kind);
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
