#include "mylos/config/schema/types/value.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "mylos/base/errors/deck.hpp"

namespace mylos {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\u{:04X}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string joined(const Value::List& list) {
  std::string result;
  for (const Value& value : list) result += (result.empty() ? "" : ", ") + to_toml(value);
  return result;
}

std::string joined(const Value::Table& table) {
  std::string result;
  for (const NamedValue& entry : table) {
    result += (result.empty() ? "" : ", ") + in_quotes(entry.name) + " = " + to_toml(entry.value);
  }
  return result;
}

}  // namespace

Mismatch::Mismatch(std::string found) : Mismatch(std::move(found), errors::bad_value) {}

std::string shortest(double number) {
  std::string text = fmt::format("{}", number);
  const auto exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  std::string digits = text.substr(exponent + 2);
  digits.erase(0, digits.find_first_not_of('0'));
  return text.substr(0, exponent + 1) + (text[exponent + 1] == '-' ? "-" : "") + digits;
}

std::string describe(const Value& value) {
  return std::visit(
      [&](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) return held ? "the boolean true" : "the boolean false";
        if constexpr (std::is_same_v<Held, std::int64_t>) return fmt::format("the integer {}", held);
        if constexpr (std::is_same_v<Held, double>) return "the number " + to_toml(value);
        if constexpr (std::is_same_v<Held, std::string>) return "the string \"" + printable(held) + '"';
        if constexpr (std::is_same_v<Held, Value::List>) return held.empty() ? "an empty list" : "a list";
        if constexpr (std::is_same_v<Held, Value::Table>) return "a table";
        if constexpr (std::is_same_v<Held, Value::Foreign>) return held.what;
      },
      value.held);
}

std::string to_toml(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) return held ? "true" : "false";
        if constexpr (std::is_same_v<Held, std::int64_t>) return fmt::format("{}", held);
        if constexpr (std::is_same_v<Held, double>) {
          std::string text = shortest(held);  // "2" would read back as an integer
          return text.find_first_not_of("0123456789-") == std::string::npos ? text + ".0" : text;
        }
        if constexpr (std::is_same_v<Held, std::string>) return in_quotes(held);
        if constexpr (std::is_same_v<Held, Value::List>) return '[' + joined(held) + ']';
        if constexpr (std::is_same_v<Held, Value::Table>)
          return held.empty() ? "{}" : "{ " + joined(held) + " }";
        if constexpr (std::is_same_v<Held, Value::Foreign>) return in_quotes(held.what);
      },
      value.held);
}

}  // namespace mylos
