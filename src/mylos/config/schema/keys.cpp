#include "mylos/config/schema/keys.hpp"

#include <algorithm>
#include <array>

#include "mylos/base/errors/units.hpp"

namespace mylos {

std::optional<double> number_in(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.held)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value.held)) return *number;
  return std::nullopt;
}

std::optional<std::int64_t> bytes_in(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.held)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value.held)) return parse_bytes(*text);
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

std::optional<std::string> read_patterns(std::vector<std::string>& patterns, const Value& value) {
  constexpr std::size_t max_patterns = 1000;
  const Value::List one{value};
  const auto* list = std::get_if<Value::List>(&value.held);
  for (const Value& element : list == nullptr ? one : *list) {
    const auto* pattern = std::get_if<std::string>(&element.held);
    if (pattern == nullptr || !is_path(*pattern) || patterns.size() == max_patterns) return describe(element);
    patterns.push_back(*pattern);
  }
  return std::nullopt;
}

Value patterns_value(const std::vector<std::string>& patterns) {
  Value::List list;
  for (const std::string& pattern : patterns) list.push_back({pattern});
  return {std::move(list)};
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " or " : ", ";
    result += '"' + words[i] + '"';
  }
  return result;
}

}  // namespace mylos
