#include "deck_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/number_text.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_keys = 2000;
constexpr std::size_t max_value_bytes = 2000;

/// Returns the text before a comment; a '#' within a string begins no comment.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '"' && c == '\\') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

DeckLines::DeckLines(std::string_view text) {
  std::string section;
  bool is_table_of_list = false;  // whose lines become one value
  std::map<std::string, std::size_t> tables;
  while (!text.empty() && keys_.size() < max_keys) {
    const std::string_view line = trimmed(without_comment(text.substr(0, text.find('\n'))), " \t\r");
    text.remove_prefix(std::min(text.size(), text.find('\n')));
    if (!text.empty()) text.remove_prefix(1);
    if (line.starts_with('[') && line.ends_with(']')) {
      is_table_of_list = line.starts_with("[[") && line.ends_with("]]");
      const std::size_t brackets = is_table_of_list ? 2 : 1;
      section = std::string(trimmed(line.substr(brackets, line.size() - 2 * brackets)));
      section.resize(std::min(section.size(), max_value_bytes));
      if (is_table_of_list) keys_.emplace_back(fmt::format("{}.{}", section, ++tables[section]), "");
      continue;
    }
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) continue;
    if (is_table_of_list) {
      std::string& value = keys_.back().second;
      value += fmt::format("{}{}", value.empty() ? "" : ", ", line);
      value.resize(std::min(value.size(), max_value_bytes));
      continue;
    }
    std::string key = section.empty() ? "" : section + ".";
    key += trimmed(line.substr(0, sign));
    keys_.emplace_back(key.substr(0, max_value_bytes),
                       trimmed(line.substr(sign + 1)).substr(0, max_value_bytes));
  }
}

const std::string* DeckLines::find(std::string_view key) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const auto& entry) { return entry.first == key; });
  return found == keys_.end() ? nullptr : &found->second;
}

std::string DeckLines::value(std::string_view key) const {
  const std::string* text = find(key);
  if (!text) return {};
  const bool quoted = text->size() >= 2 && (text->front() == '"' || text->front() == '\'');
  return quoted ? text->substr(1, text->size() - 2) : *text;
}

double DeckLines::number(std::string_view key) const {
  const double number = to_number<double>(value(key)).value_or(0);
  return std::isfinite(number) ? number : 0;
}

}  // namespace mylos::app
