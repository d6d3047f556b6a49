#include "mylos/config/schema/types/value_type.hpp"

#include <array>
#include <cmath>

#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

/// Reads a byte count written as "25 MiB" or as an integer number of bytes.
std::optional<std::int64_t> bytes_in(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.held)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value.held)) return parse_bytes(*text);
  return std::nullopt;
}

}  // namespace

std::string NumberRange::out_of_range_in_float(double x) const {
  const auto as_float = static_cast<float>(x);
  if (as_float == 0 && x != 0) return "0";
  if (!low_included && as_float == static_cast<float>(low)) return shortest(low);
  if (!high_included && as_float == static_cast<float>(high)) return shortest(high);
  return std::isinf(as_float) ? "infinite" : "";
}

std::string NumberRange::text() const {
  if (low_included && high_included) return fmt::format("from {} to {}", shortest(low), shortest(high));
  return fmt::format("{} {} and {} {}", low_included ? "of at least" : "above", shortest(low),
                     high_included ? "at most" : "below", shortest(high));
}

std::optional<double> number_in(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.held)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value.held)) return *number;
  return std::nullopt;
}

std::string exact_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

bool is_name(const std::string& text) {
  return is_path(text) && text.size() <= 100 && text.find('/') == std::string::npos && text != "." &&
         text != "..";
}

bool is_path(const std::string& text) {
  const auto controls = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return !text.empty() && text.size() <= 4096 && std::none_of(text.begin(), text.end(), controls);
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " or " : ", ";
    result += '"' + words[i] + '"';
  }
  return result;
}

ValueType<std::int64_t> integer_type(IntegerRange range) {
  return {fmt::format("integer from {} to {}", range.min, range.max),
          "an ",
          {},
          [range](std::int64_t& target, const Value& value) -> Found {
            const auto* held = std::get_if<std::int64_t>(&value.held);
            if (held == nullptr || *held < range.min || *held > range.max) return describe(value);
            target = *held;
            return std::nullopt;
          },
          [](const std::int64_t& target) { return std::optional(Value{target}); }};
}

ValueType<double> number_type(NumberRange range) {
  return {"number " + range.text(),
          "a ",
          {},
          [range](double& target, const Value& value) -> Found {
            const auto number = number_in(value);
            if (!number || !range.holds(*number)) return describe(value);
            if (const std::string left = range.out_of_range_in_float(*number); !left.empty())
              return fmt::format("{}, which is {} in float", describe(value), left);
            target = *number;
            return std::nullopt;
          },
          [](const double& target) { return std::optional(Value{target}); }};
}

ValueType<bool> boolean_type() {
  return {"true or false",
          "",
          {},
          [](bool& target, const Value& value) -> Found {
            const auto* held = std::get_if<bool>(&value.held);
            if (held == nullptr) return describe(value);
            target = *held;
            return std::nullopt;
          },
          [](const bool& target) { return std::optional(Value{target}); }};
}

ValueType<std::int64_t> bytes_type(IntegerRange range, const std::string& example) {
  return {fmt::format("\"auto\" or byte count from {} to {}, such as \"{}\" (units B, kB, MB, GB, TB, KiB, "
                      "MiB, GiB, TiB)",
                      exact_bytes(range.min), exact_bytes(range.max), example),
          "",
          {},
          [range](std::int64_t& target, const Value& value) -> Found {
            const auto* word = std::get_if<std::string>(&value.held);
            const bool is_auto = word != nullptr && *word == "auto";
            const auto bytes = is_auto ? std::nullopt : bytes_in(value);
            if (!is_auto && (!bytes || *bytes < range.min || *bytes > range.max)) return describe(value);
            target = bytes.value_or(0);
            return std::nullopt;
          },
          [](const std::int64_t& bytes) {
            return std::optional(Value{bytes == 0 ? std::string("auto") : exact_bytes(bytes)});
          }};
}

ValueType<std::string> text_type(bool (*accepts)(const std::string&), std::string text) {
  return or_none<std::string>({std::move(text),
                               "a ",
                               {},
                               [accepts](std::string& target, const Value& value) -> Found {
                                 const auto* held = std::get_if<std::string>(&value.held);
                                 if (held == nullptr || !accepts(*held)) return describe(value);
                                 target = *held;
                                 return std::nullopt;
                               },
                               [](const std::string& target) { return std::optional(Value{target}); }});
}

ValueType<std::vector<std::string>> patterns_type(std::string text) {
  const auto one = text_type(is_path, "name");
  auto type = or_none(list_type(one, {.text = std::move(text)}));
  type.read = [read = one.read](std::vector<std::string>& patterns, const Value& value) -> Found {
    const Value::List alone{value};
    const auto* list = std::get_if<Value::List>(&value.held);
    for (const Value& element : list == nullptr ? alone : *list) {
      std::string pattern;
      if (auto found = read(pattern, element)) return found;
      if (patterns.size() == max_patterns) return describe(element);
      patterns.push_back(std::move(pattern));
    }
    return std::nullopt;
  };
  return type;
}

}  // namespace mylos
