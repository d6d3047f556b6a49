#include "report_json.hpp"

#include <fmt/format.h>

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

}  // namespace mylos::app
