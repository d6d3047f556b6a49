// Keys: adds the keys of one section, or of the tables of one list, to the schema. Each key is bound to the
// field of the options that it sets.
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mylos/config/schema/conditions.hpp"
#include "mylos/config/schema/schema.hpp"
#include "mylos/config/schema/types/value_type.hpp"

namespace mylos {

/// Throws Error: the section has no key of this name whose effect could depend on a condition.
[[noreturn]] void fail_limit(const std::string& section, std::string_view name);

/// Returns a key's default as a deck would write it, or if there is none `words`.
[[nodiscard]] std::string text_of_default(const std::optional<Value>& value, std::string_view words = "");

/// `of` is a generic lambda from (const) Options& to the struct with the fields: that of the section, or the
/// last table of the list.
template <class Of>
class Keys {
 public:
  Keys(Schema& schema, std::string section, std::string meaning, Of of)
      : keys_(schema.keys), section_(std::move(section)), of_(of) {
    schema.sections.push_back({section_, std::move(meaning)});
  }
  /// Adds to a section that has keys already.
  Keys(Schema& schema, std::string section, Of of)
      : keys_(schema.keys), section_(std::move(section)), of_(of) {}
  Keys(TableList& list, std::string section, Of of)
      : keys_(list.keys), section_(std::move(section)), of_(of), defaults_(list.one_by_default) {}

  Key& integer(std::string name, auto field, IntegerRange range, std::string unit, std::string meaning) {
    return add(std::move(name), field, integer_type(range), std::move(meaning), std::move(unit));
  }
  /// Zero in the options represents a key that the deck does not give.
  Key& optional_integer(std::string name, auto field, IntegerRange range, std::string unit,
                        std::string meaning) {
    return add(std::move(name), field, or_none(integer_type(range)), std::move(meaning), std::move(unit));
  }
  Key& number(std::string name, auto field, NumberRange range, std::string unit, std::string meaning) {
    return add(std::move(name), field, number_type(range), std::move(meaning), std::move(unit));
  }
  Key& boolean(std::string name, auto field, std::string meaning) {
    return add(std::move(name), field, boolean_type(), std::move(meaning));
  }
  template <class Enumeration>
  Key& choice(std::string name, auto field, Words<Enumeration> words, std::string meaning) {
    return add(std::move(name), field, word_type(std::move(words)), std::move(meaning));
  }

  /// Adds a text that `accepts` allows; an empty text in the options represents a key that the deck does not
  /// give.
  Key& text(std::string name, auto field, bool (*accepts)(const std::string&), std::string type,
            std::string meaning) {
    Key& key = add(std::move(name), field, text_type(accepts, std::move(type)), std::move(meaning));
    key.takes_any_text = true;
    return key;
  }

  /// Adds a key of any type. A field of std::optional<T> without a value represents a key that the deck does
  /// not give.
  template <class T>
  Key& add(std::string name, auto field, const ValueType<T>& type, std::string meaning,
           std::string unit = "") {
    Key& key = add(std::move(name), type.text, type.article, std::move(meaning));
    key.unit = std::move(unit);
    key.choices = type.choices;
    key.read = [of = of_, field, read = type.read](Options& options, const Value& value) -> Found {
      T held{};
      if (Found found = read(held, value)) return found;
      auto& target = of(options).*field;
      target = static_cast<std::remove_reference_t<decltype(target)>>(std::move(held));
      return std::nullopt;
    };
    key.write = [of = of_, field, write = type.write](const Options& options) -> std::optional<Value> {
      const auto& held = of(options).*field;
      if constexpr (requires { held.has_value(); } && !std::is_same_v<T, std::decay_t<decltype(held)>>) {
        return held ? write(*held) : std::nullopt;
      } else {
        return write(static_cast<T>(held));
      }
    };
    finish(key);
    return key;
  }

  /// Adds a key with separate functions for reading and writing; the caller sets the remaining fields and
  /// calls finish().
  Key& add(std::string name, std::string type, std::string article, std::string meaning) {
    Key& key = keys_.emplace_back();
    key.section = section_;
    key.name = std::move(name);
    key.type = std::move(type);
    key.article = std::move(article);
    key.meaning = std::move(meaning);
    return key;
  }

  /// Sets the default to the initial value of the options.
  void finish(Key& key) const { key.default_text = text_of_default(key.write(defaults_)); }

  /// Declares the condition under which keys that have been added have an effect.
  void only_with(const std::vector<std::string_view>& names, const Condition& condition) {
    for (const std::string_view name : names) {
      const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const Key& added) {
        return added.section == section_ && added.name == name;
      });
      if (key == keys_.end()) fail_limit(section_, name);
      key->limit(condition);
    }
  }

  /// Declares the condition for all keys that have been added.
  void only_with(const Condition& condition) {
    for (Key& key : keys_) {
      if (key.section == section_) key.limit(condition);
    }
  }

  /// Declares the condition of keys that only some types of networks have, as `keys_of(type)` lists them; it
  /// comes before others.
  template <class KeysOf>
  void limit_to_types(const KeysOf& keys_of) {
    for (Key& key : keys_) {
      if (key.section != section_) continue;
      std::vector<std::string> types;
      for (const ModelType type : model_types) {
        const std::vector<std::string>& names = keys_of(type);
        if (std::find(names.begin(), names.end(), key.name) != names.end()) types.emplace_back(name_of(type));
      }
      if (!types.empty() && types.size() < std::size(model_types))
        key.only_with.insert(key.only_with.begin(), with("model.type", std::move(types)));
    }
  }

 private:
  std::deque<Key>& keys_;
  std::string section_;
  Of of_;
  Options defaults_;
};

/// Makes the key a list of tables, [[section.name]], or lets it take one besides its other values. `of` is a
/// generic lambda from (const) Options& to the list. Returns the keys of a table, to which the caller adds.
template <class Of>
[[nodiscard]] auto tables_of(Key& key, Of of, TableList list = {},
                             std::size_t max = std::numeric_limits<std::size_t>::max()) {
  of(list.one_by_default).emplace_back();
  const auto tables = std::make_shared<TableList>(std::move(list));
  if (key.read) {
    key.type += fmt::format(", or tables [[{}]]", key.path());
  } else {
    key.type = fmt::format("list of tables [[{}]]", key.path());
    key.article = "a ";
    key.default_text = "none";
    key.read = [](Options&, const Value& value) { return Found(describe(value)); };
    key.write = [](const Options&) { return std::optional<Value>(); };
  }
  key.read = [=, other = std::move(key.read)](Options& options, const Value& value) -> Found {
    const auto* values = std::get_if<Value::List>(&value.held);
    if (values == nullptr) return other(options, value);
    for (const Value& each : *values) {
      auto& target = of(options);
      if (target.size() == max) return fmt::format("more than {}", max);
      target.emplace_back();
      if (Found found = read_table(*tables, options, target.size(), each)) return found;
    }
    return std::nullopt;
  };
  key.write = [=, other = std::move(key.write)](const Options& options) -> std::optional<Value> {
    if (of(options).empty()) return other(options);
    Value::List values;
    Options one;
    for (const auto& table : of(options)) {
      of(one) = {table};
      values.push_back(written_table(*tables, one));
    }
    return Value{std::move(values)};
  };
  key.clear = [of](Options& options) { of(options).clear(); };
  key.tables = tables;
  return Keys(
      *tables, key.path(), [of](auto& options) -> auto& { return of(options).back(); });
}

}  // namespace mylos
