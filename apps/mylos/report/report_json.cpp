#include "report_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mylos::app {

ordered_json short_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (std::abs(value) < 1e15 && value == std::floor(value)) return static_cast<std::int64_t>(value);
  const std::string text = fmt::format("{:.6g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::string script_text(const ordered_json& document) {
  const std::string text = document.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {  // in JSON these stand in strings alone
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

double number_member(const ordered_json& document, const char* key, double otherwise) {
  if (!document.is_object()) return otherwise;
  const auto found = document.find(key);
  if (found == document.end() || !found->is_number()) return otherwise;
  const auto value = found->get<double>();
  return std::isfinite(value) ? value : otherwise;
}

std::string text_member(const ordered_json& document, const char* key) {
  if (!document.is_object()) return {};
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_text(const ordered_json& value) {
  return value.is_string();
}

bool is_number(const ordered_json& value) {
  return value.is_number();
}

bool is_number_or_null(const ordered_json& value) {
  return value.is_number() || value.is_null();
}

Requirement list_of(Requirement element, std::size_t min, std::size_t max) {
  return [=](const ordered_json& value) {
    return value.is_array() && value.size() >= min && value.size() <= max &&
           std::all_of(value.begin(), value.end(), element);
  };
}

Requirement map_of(Requirement member, std::size_t max) {
  return [=](const ordered_json& value) {
    return value.is_object() && value.size() <= max && std::all_of(value.begin(), value.end(), member);
  };
}

bool has_members(const ordered_json& document,
                 std::initializer_list<std::pair<const char*, Requirement>> members) {
  return document.is_object() && std::all_of(members.begin(), members.end(), [&](const auto& member) {
           return document.contains(member.first) && member.second(document[member.first]);
         });
}

std::size_t size_of_member(const ordered_json& document, const char* key) {
  return document.is_object() && document.contains(key) ? document[key].size() : 0;
}

}  // namespace mylos::app
