// Keys: adds the keys of one section to the schema, each bound to the field of the options that it sets.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/config/schema/conditions.hpp"
#include "mylos/config/schema/schema.hpp"

namespace mylos {

struct IntegerRange {
  std::int64_t min;
  std::int64_t max;
};

struct NumberRange {
  double low;
  bool low_included;
  double high;
  bool high_included;

  [[nodiscard]] bool holds(double x) const {  // comparisons are written so that NaN is outside
    return (low_included ? x >= low : x > low) && (high_included ? x <= high : x < high);
  }
  /// Kernels compute in float. Returns the value that a number of the range takes there if it leaves the
  /// range: 0, the excluded bound, or "infinite"; empty if the number stays in the range.
  [[nodiscard]] std::string out_of_range_in_float(double x) const {
    const auto as_float = static_cast<float>(x);
    if (as_float == 0 && x != 0) return "0";
    if (!low_included && as_float == static_cast<float>(low)) return shortest(low);
    if (!high_included && as_float == static_cast<float>(high)) return shortest(high);
    return std::isinf(as_float) ? "infinite" : "";
  }
  [[nodiscard]] std::string text() const {
    if (low_included && high_included) return fmt::format("from {} to {}", shortest(low), shortest(high));
    return fmt::format("{} {} and {} {}", low_included ? "of at least" : "above", shortest(low),
                       high_included ? "at most" : "below", shortest(high));
  }
};

/// The words of a deck for the values of an enumeration.
template <class Enumeration>
using Words = std::vector<std::pair<std::string, Enumeration>>;

/// Returns an integer as a double, and a double unchanged.
[[nodiscard]] std::optional<double> number_in(const Value& value);

/// Reads a byte count written as "25 MiB" or as an integer number of bytes.
[[nodiscard]] std::optional<std::int64_t> bytes_in(const Value& value);

/// 26214400 -> "25 MiB": uses the largest unit that divides the count, so that the text is exact.
[[nodiscard]] std::string exact_bytes(std::int64_t bytes);

/// Returns whether the text can be a name in the file system: one part of a path, no control characters, at
/// most 100 bytes.
[[nodiscard]] bool is_name(const std::string& text);

/// Returns whether the text is not empty, has no control characters, and at most 4096 bytes.
[[nodiscard]] bool is_path(const std::string& text);

/// Appends a pattern of names, or a list of them. Returns a description of another value, worded to precede
/// "for KEY".
[[nodiscard]] std::optional<std::string> read_patterns(std::vector<std::string>& patterns,
                                                       const Value& value);
[[nodiscard]] Value patterns_value(const std::vector<std::string>& patterns);

/// Returns "a, b or c".
[[nodiscard]] std::string alternatives(const std::vector<std::string>& words);

/// `of` is a generic lambda from (const) Options& to the section's struct.
template <class Of>
class Keys {
 public:
  Keys(Schema& schema, std::string section, std::string meaning, Of of)
      : schema_(schema), section_(std::move(section)), of_(of) {
    schema_.sections.push_back({section_, std::move(meaning)});
  }

  template <class Field>
  void integer(std::string name, Field field, IntegerRange range, std::string unit, std::string meaning) {
    Key& key = add(std::move(name), fmt::format("integer from {} to {}", range.min, range.max), "an ",
                   std::move(meaning));
    key.unit = std::move(unit);
    key.read = [of = of_, field, range](Options& options, const Value& value) -> Found {
      const auto* held = std::get_if<std::int64_t>(&value.held);
      if (held == nullptr || *held < range.min || *held > range.max) return describe(value);
      auto& target = of(options).*field;
      target = static_cast<std::remove_reference_t<decltype(target)>>(*held);
      return std::nullopt;
    };
    key.write = [of = of_, field](const Options& options) -> std::optional<Value> {
      return Value{static_cast<std::int64_t>(of(options).*field)};
    };
    finish(key);
  }

  /// Zero in the options represents a key that the deck does not give.
  template <class Field>
  void optional_integer(std::string name, Field field, IntegerRange range, std::string unit,
                        std::string meaning) {
    integer(std::move(name), field, range, std::move(unit), std::move(meaning));
    Key& key = schema_.keys.back();
    key.write = [of = of_, field](const Options& options) -> std::optional<Value> {
      if (of(options).*field == 0) return std::nullopt;
      return Value{static_cast<std::int64_t>(of(options).*field)};
    };
    key.default_text = "none";
  }

  template <class Field>
  void number(std::string name, Field field, NumberRange range, std::string unit, std::string meaning) {
    Key& key = add(std::move(name), "number " + range.text(), "a ", std::move(meaning));
    key.unit = std::move(unit);
    key.read = [of = of_, field, range](Options& options, const Value& value) -> Found {
      const auto number = number_in(value);
      if (!number || !range.holds(*number)) return describe(value);
      if (const std::string left = range.out_of_range_in_float(*number); !left.empty())
        return fmt::format("{}, which is {} in float", describe(value), left);
      of(options).*field = *number;
      return std::nullopt;
    };
    key.write = [of = of_, field](const Options& options) -> std::optional<Value> {
      return Value{of(options).*field};
    };
    finish(key);
  }

  template <class Field>
  void boolean(std::string name, Field field, std::string meaning) {
    Key& key = add(std::move(name), "true or false", "", std::move(meaning));
    key.read = [of = of_, field](Options& options, const Value& value) -> Found {
      const auto* held = std::get_if<bool>(&value.held);
      if (held == nullptr) return describe(value);
      of(options).*field = *held;
      return std::nullopt;
    };
    key.write = [of = of_, field](const Options& options) -> std::optional<Value> {
      return Value{of(options).*field};
    };
    finish(key);
  }

  /// Zero in the options represents "auto".
  template <class Field>
  void bytes_or_auto(std::string name, Field field, IntegerRange range, const std::string& example,
                     std::string meaning) {
    Key& key =
        add(std::move(name),
            fmt::format("\"auto\" or byte count from {} to {}, such as \"{}\" (units B, kB, MB, GB, TB, "
                        "KiB, MiB, GiB, TiB)",
                        exact_bytes(range.min), exact_bytes(range.max), example),
            "", std::move(meaning));
    key.read = [of = of_, field, range](Options& options, const Value& value) -> Found {
      const auto* word = std::get_if<std::string>(&value.held);
      const bool is_auto = word != nullptr && *word == "auto";
      const auto bytes = is_auto ? std::nullopt : bytes_in(value);
      if (!is_auto && (!bytes || *bytes < range.min || *bytes > range.max)) return describe(value);
      of(options).*field = bytes.value_or(0);
      return std::nullopt;
    };
    key.write = [of = of_, field](const Options& options) -> std::optional<Value> {
      const std::int64_t bytes = of(options).*field;
      return Value{bytes == 0 ? std::string("auto") : exact_bytes(bytes)};
    };
    finish(key);
  }

  /// Adds a text that `accepts` allows; an empty text in the options represents a key that the deck does not
  /// give.
  template <class Field>
  void text(std::string name, Field field, bool (*accepts)(const std::string&), std::string type,
            std::string default_text, std::string meaning) {
    Key& key = add(std::move(name), std::move(type), "a ", std::move(meaning));
    key.takes_any_text = true;
    key.read = [of = of_, field, accepts](Options& options, const Value& value) -> Found {
      const auto* held = std::get_if<std::string>(&value.held);
      if (held == nullptr || !accepts(*held)) return describe(value);
      of(options).*field = *held;
      return std::nullopt;
    };
    key.write = [of = of_, field](const Options& options) -> std::optional<Value> {
      if ((of(options).*field).empty()) return std::nullopt;
      return Value{of(options).*field};
    };
    key.default_text = std::move(default_text);
  }

  template <class Field, class Enumeration>
  void choice(std::string name, Field field, Words<Enumeration> words, std::string meaning) {
    std::vector<std::string> choices;
    for (const auto& [word, unused] : words) choices.push_back(word);
    Key& key = add(std::move(name), alternatives(choices), "", std::move(meaning));
    key.choices = std::move(choices);
    key.read = [of = of_, field, words](Options& options, const Value& value) -> Found {
      const auto* held = std::get_if<std::string>(&value.held);
      for (const auto& [word, meant] : words) {
        if (held != nullptr && *held == word) {
          of(options).*field = meant;
          return std::nullopt;
        }
      }
      return describe(value);
    };
    key.write = [of = of_, field, words](const Options& options) -> std::optional<Value> {
      for (const auto& [word, meant] : words) {
        if (of(options).*field == meant) return Value{word};
      }
      return std::nullopt;
    };
    finish(key);
  }

  /// Adds a key with separate functions for reading and writing; the caller sets the remaining fields and
  /// calls finish().
  Key& add(std::string name, std::string type, std::string article, std::string meaning) {
    Key key;
    key.section = section_;
    key.name = std::move(name);
    key.type = std::move(type);
    key.article = std::move(article);
    key.meaning = std::move(meaning);
    schema_.keys.push_back(std::move(key));
    return schema_.keys.back();
  }

  /// Declares the condition under which keys of this section, which have been added, have an effect.
  void only_with(const std::vector<std::string_view>& names, const Condition& condition) {
    for (const std::string_view name : names) {
      const auto key = std::find_if(schema_.keys.begin(), schema_.keys.end(), [&](const Key& added) {
        return added.section == section_ && added.name == name;
      });
      if (key == schema_.keys.end()) fail_run("[{}] has no key '{}' that could be limited", section_, name);
      key->only_with.push_back(condition);
    }
  }

  /// Declares the condition for all keys of this section.
  void only_with(const Condition& condition) {
    for (Key& key : schema_.keys) {
      if (key.section == section_) key.only_with.push_back(condition);
    }
  }

  /// Declares the condition of keys that only some types of networks have, as `keys_of(type)` lists them.
  template <class KeysOf>
  void limit_to_types(const KeysOf& keys_of) {
    for (Key& key : schema_.keys) {
      if (key.section != section_) continue;
      std::vector<std::string> types;
      for (const ModelType type : model_types) {
        const std::vector<std::string>& names = keys_of(type);
        if (std::find(names.begin(), names.end(), key.name) != names.end()) types.emplace_back(name_of(type));
      }
      if (!types.empty() && types.size() < std::size(model_types))
        key.only_with.push_back(with("model.type", std::move(types)));
    }
  }

  /// Sets the default to the initial value of the options.
  void finish(Key& key) const {
    const Options none;
    const auto value = key.write(none);
    const auto* number = value ? std::get_if<double>(&value->held) : nullptr;
    key.default_text = number != nullptr ? shortest(*number) : to_toml(*value);
  }

 private:
  using Found = std::optional<std::string>;

  Schema& schema_;
  std::string section_;
  Of of_;
};

}  // namespace mylos
