// ValueType: the values that a key takes, how they are described, and how they are read and written. The same
// types serve keys of sections and keys of tables in a list.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mylos/config/schema/ranges.hpp"
#include "mylos/config/schema/types/value.hpp"

namespace mylos {

/// The longest list of patterns of names.
constexpr std::size_t max_patterns = 1000;

template <class T>
struct ValueType {
  std::string text;                  // with the range: "integer from 0 to 65536"
  std::string article;               // precedes `text` in messages: "a ", "an " or empty
  std::vector<std::string> choices;  // of a type of several words
  std::function<Found(T&, const Value&)> read;
  std::function<std::optional<Value>(const T&)> write;  // nothing: the deck would not give the key
};

/// The words of a deck for the values of an enumeration.
template <class Enumeration>
using Words = std::vector<std::pair<std::string, Enumeration>>;

/// Returns "a, b or c".
[[nodiscard]] std::string alternatives(const std::vector<std::string>& words);

[[nodiscard]] ValueType<std::int64_t> integer_type(IntegerRange range);
[[nodiscard]] ValueType<double> number_type(NumberRange range);
[[nodiscard]] ValueType<bool> boolean_type();
/// Zero represents "auto".
[[nodiscard]] ValueType<std::int64_t> bytes_type(IntegerRange range, const std::string& example);
/// Texts that `accepts` allows. An empty text is not written.
[[nodiscard]] ValueType<std::string> text_type(bool (*accepts)(const std::string&), std::string text);
/// A name with '*' for any characters, or a list of them. An empty list is not written.
[[nodiscard]] ValueType<std::vector<std::string>> patterns_type(std::string text);

template <class Enumeration>
[[nodiscard]] ValueType<Enumeration> word_type(Words<Enumeration> words) {
  std::vector<std::string> choices;
  for (const auto& [word, unused] : words) choices.push_back(word);
  std::string text = alternatives(choices);
  return {std::move(text), "", std::move(choices),
          [words](Enumeration& target, const Value& value) -> Found {
            const auto* held = std::get_if<std::string>(&value.held);
            for (const auto& [word, meant] : words) {
              if (held == nullptr || *held != word) continue;
              target = meant;
              return std::nullopt;
            }
            return describe(value);
          },
          [words](const Enumeration& target) -> std::optional<Value> {
            for (const auto& [word, meant] : words)
              if (target == meant) return Value{word};
            return std::nullopt;
          }};
}

/// The default value of T represents a key that the deck does not give.
template <class T>
[[nodiscard]] ValueType<T> or_none(ValueType<T> type) {
  type.write = [write = std::move(type.write)](const T& value) {
    return value == T{} ? std::nullopt : write(value);
  };
  return type;
}

struct ListRules {
  std::string text;
  std::string article = "a ";
  std::size_t min = 0;
  std::size_t max = std::numeric_limits<std::size_t>::max();
  bool ascending = false;
  bool distinct = false;
};

/// Lists of `element`. Descriptions of elements that do not fit name their place in a list of numbers.
template <class T>
[[nodiscard]] ValueType<std::vector<T>> list_type(ValueType<T> element, ListRules rules) {
  ValueType<std::vector<T>> type{rules.text, rules.article, {}, {}, {}};
  type.read = [read = std::move(element.read), rules](std::vector<T>& target, const Value& value) -> Found {
    constexpr bool is_numbered = std::is_arithmetic_v<T>;
    const auto* list = std::get_if<Value::List>(&value.held);
    if (list == nullptr) return describe(value);
    if (list->size() < rules.min || list->size() > rules.max)
      return is_numbered ? fmt::format("a list of {}", list->size()) : describe(value);
    std::vector<T> elements;
    for (const Value& each : *list) {
      const std::string what = describe(each);
      T held{};
      Found found = read(held, each);
      const bool is_known = std::find(elements.begin(), elements.end(), held) != elements.end();
      if (!found && rules.distinct && is_known) return what + " twice in the list";
      if (!found && rules.ascending && !elements.empty() && !(elements.back() < held)) found = what;
      if (found) {
        found->text.insert(what.size(),
                           is_numbered ? fmt::format(" at place {}", elements.size() + 1) : " in the list");
        return found;
      }
      elements.push_back(std::move(held));
    }
    target = std::move(elements);
    return std::nullopt;
  };
  type.write = [write = std::move(element.write)](const std::vector<T>& target) -> std::optional<Value> {
    Value::List list;
    for (const T& each : target) {
      if (auto written = write(each)) list.push_back(*std::move(written));
    }
    return Value{std::move(list)};
  };
  return type;
}

}  // namespace mylos
