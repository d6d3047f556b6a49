// OwnKeys: adds the keys that kinds of layers or losses state of their own options (mylos/model/own_key.hpp).
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/types/axes_type.hpp"
#include "mylos/config/schema/types/edges_type.hpp"
#include "mylos/model/own_key.hpp"

namespace mylos {

/// Throws Error (internal): the kind states a key otherwise than another kind does.
[[noreturn]] void fail_kinds(std::string_view key, std::string_view kind);

/// Numbers by name. An empty table is not written.
[[nodiscard]] ValueType<std::map<std::string, double>> numbers_by_name_type();

/// The type of what a deck gives for an option of a kind.
template <class Kind, class Option>
[[nodiscard]] ValueType<Option> type_of(const OwnKey<Kind, Option>& key) {
  const OwnRange& range = key.range;
  const NumberRange numbers{range.min, !range.above_min, range.max, !range.below_max};
  const IntegerRange integers{static_cast<std::int64_t>(range.min), static_cast<std::int64_t>(range.max)};
  if constexpr (std::is_same_v<Option, bool>) {
    return boolean_type();
  } else if constexpr (std::is_same_v<Option, std::int64_t>) {
    return integer_type(integers);
  } else if constexpr (std::is_same_v<Option, double>) {
    return number_type(numbers);
  } else if constexpr (std::is_same_v<Option, std::vector<std::int64_t>>) {
    return key.list.empty() ? axes_type(integer_type(integers))
                            : or_none(list_type(integer_type(integers), {.text = std::string(key.list)}));
  } else if constexpr (std::is_same_v<Option, std::vector<double>>) {
    return key.list.empty() ? axes_type(number_type(numbers))
                            : or_none(list_type(number_type(numbers), {.text = std::string(key.list)}));
  } else if constexpr (std::is_same_v<Option, std::string>) {
    return text_type(is_name, "name");
  } else if constexpr (std::is_same_v<Option, Edges>) {
    return edges_type();
  } else if constexpr (std::is_enum_v<Option>) {
    Words<Option> words;
    for (const std::string_view word : key.words) words.emplace_back(word, static_cast<Option>(words.size()));
    return word_type(std::move(words));
  } else {
    return numbers_by_name_type();
  }
}

/// The words of a variant of kinds, their names.
template <class Variant>
[[nodiscard]] ValueType<Variant> kind_type() {
  Words<std::size_t> words;
  for (const auto& each : traits_of_kinds(static_cast<const Variant*>(nullptr)))
    words.emplace_back(each.name, words.size());
  ValueType<std::size_t> index = word_type(std::move(words));
  return {index.text, index.article, index.choices,
          [read = index.read](Variant& kind, const Value& value) -> Found {
            std::size_t chosen = 0;
            if (Found found = read(chosen, value)) return found;
            kind = kind_at<Variant>(chosen);
            return std::nullopt;
          },
          [write = index.write](const Variant& kind) { return write(kind.index()); }};
}

/// What the kinds mean, for the manual: " dense: each output from all numbers of the input. conv: ...".
template <class Variant>
[[nodiscard]] std::string meanings_of_kinds() {
  std::string text;
  for (const auto& each : traits_of_kinds(static_cast<const Variant*>(nullptr)))
    text += fmt::format(" {}: {}.", each.name, each.meaning);
  return text;
}

/// One key of a variant of kinds, for those kinds that have it.
template <class Variant>
class KeyOfKinds {
 public:
  /// Adds a kind, whose option read() and write() then read and write.
  template <class Kind, class Option>
  void add(const OwnKey<Kind, Option>& key) {
    const ValueType<Option> type = type_of(key);
    kinds_.emplace_back(Kind::traits.name);
    readers_.push_back([type, member = key.member](Variant& kinds, const Value& value) -> Found {
      Option held{};
      if (Found found = type.read(held, value)) return found;
      if (auto* kind = std::get_if<Kind>(&kinds)) kind->*member = std::move(held);
      return std::nullopt;
    });
    writers_.push_back([type, member = key.member](const Variant& kinds) -> std::optional<Value> {
      const auto* kind = std::get_if<Kind>(&kinds);
      return kind == nullptr ? std::nullopt : type.write(kind->*member);
    });
    defaults_.push_back(text_of_default(type.write(Kind{}.*key.member), key.by_default));
  }

  [[nodiscard]] Found read(Variant& kind, const Value& value) const {
    for (const auto& read : readers_)
      if (Found found = read(kind, value)) return found;
    return std::nullopt;
  }
  /// Returns nothing if the kind has no such option.
  [[nodiscard]] std::optional<Value> write(const Variant& kind) const {
    for (const auto& write : writers_)
      if (std::optional<Value> value = write(kind)) return value;
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
  std::vector<std::function<Found(Variant&, const Value&)>> readers_;
  std::vector<std::function<std::optional<Value>(const Variant&)>> writers_;
  std::vector<std::string> defaults_;
};

/// Adds to the keys of a section or of a list's tables. `of`: a generic lambda from (const) Options& to the
/// variant. `only_with`: the condition that it has one of the kinds of these names.
template <class Variant, class SectionKeys, class Of>
class OwnKeys {
 public:
  OwnKeys(SectionKeys& keys, Of of, std::function<Condition(std::vector<std::string>)> only_with)
      : keys_(keys), of_(of), only_with_(std::move(only_with)) {}

  void add_all() {
    add_kinds(static_cast<const Variant*>(nullptr));
    for (const auto& [name, key] : added_) {
      key.schema->default_text = key.of_kinds->default_text();
      key.schema->limit(only_with_(key.of_kinds->kinds()));
    }
  }

 private:
  struct Added {
    Key* schema = nullptr;
    std::shared_ptr<KeyOfKinds<Variant>> of_kinds;
  };

  template <class... Kinds>
  void add_kinds(const std::variant<Kinds...>* /*type*/) {
    (std::apply([this](const auto&... keys) { (add(keys), ...); }, Kinds::keys()), ...);
  }

  template <class Kind, class Option>
  void add(const OwnKey<Kind, Option>& key) {
    Added& added = added_[std::string(key.name)];
    const ValueType<Option> type = type_of(key);
    if (added.schema != nullptr &&
        (added.schema->type != type.text || added.schema->is_required != key.is_required))
      fail_kinds(key.name, Kind::traits.name);
    if (added.schema == nullptr) {
      added.of_kinds = std::make_shared<KeyOfKinds<Variant>>();
      added.schema = &keys_.add(std::string(key.name), type.text, type.article, std::string(key.meaning));
      added.schema->choices = type.choices;
      added.schema->takes_any_text = std::is_same_v<Option, std::string>;
      added.schema->is_required = key.is_required;
      added.schema->read = [of = of_, own = added.of_kinds](Options& options, const Value& value) {
        return own->read(of(options), value);
      };
      added.schema->write = [of = of_, own = added.of_kinds](const Options& options) {
        return own->write(of(options));
      };
    }
    added.of_kinds->add(key);
  }

  SectionKeys& keys_;
  Of of_;
  std::function<Condition(std::vector<std::string>)> only_with_;
  std::map<std::string, Added> added_;
};

/// As the constructor of OwnKeys; adds the keys of all kinds.
template <class Variant, class SectionKeys, class Of>
void add_own_keys(SectionKeys& keys, Of of, std::function<Condition(std::vector<std::string>)> only_with) {
  OwnKeys<Variant, SectionKeys, Of>(keys, of, std::move(only_with)).add_all();
}

/// Returns the names of the keys that the kinds have of their own.
template <class... Kinds>
[[nodiscard]] std::vector<std::string> names_of_own_keys(const std::variant<Kinds...>* /*type*/) {
  std::vector<std::string> names;
  const auto add = [&](const auto&... keys) { (names.emplace_back(keys.name), ...); };
  (std::apply(add, Kinds::keys()), ...);
  return names;
}

}  // namespace mylos
