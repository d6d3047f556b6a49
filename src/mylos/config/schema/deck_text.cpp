#include "mylos/config/schema/deck_text.hpp"

#include <algorithm>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

/// No key of a deck needs more than three levels.
constexpr int max_bracket_depth = 16;
constexpr int max_dots = 16;

std::int64_t line_at(std::string_view text, std::size_t position) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
}

/// Returns the bytes of the UTF-8 sequence that starts here, 0 if there is none (RFC 3629: shortest form, no
/// surrogates).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < low || byte(i) > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

std::optional<std::size_t> first_byte_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

/// Returns the position after the string that opens at `open`, by TOML's rules for all four kinds of string.
std::size_t end_of_string(std::string_view text, std::size_t open) {
  const char quote = text[open];
  const bool escapes = quote == '"';
  const std::string three(3, quote);
  const bool many_lines = text.substr(open, 3) == three;
  std::size_t i = open + (many_lines ? 3 : 1);
  while (i < text.size()) {
    if (escapes && text[i] == '\\') {
      i += 2;
    } else if (many_lines && text.substr(i, 3) == three) {
      i += 3;
      for (int extra = 0; extra < 2 && i < text.size() && text[i] == quote; ++extra) ++i;
      return i;
    } else if (!many_lines && (text[i] == quote || text[i] == '\n')) {
      return i + 1;
    } else {
      ++i;
    }
  }
  return text.size();
}

/// Returns the position where brackets or dotted keys exceed the limit of depth, if any.
std::optional<std::size_t> first_too_deep(std::string_view text) {
  int brackets = 0;
  int dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (c == '.') ++dots;
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) dots = 0;
    if (brackets > max_bracket_depth || dots > max_dots) return i;
    ++i;
  }
  return std::nullopt;
}

}  // namespace

void check_deck_text(std::string_view text, const std::string& file_name) {
  if (text.size() > max_deck) {
    fail_input(errors::deck_size, "{}: a deck has at most {}, this one has {}", file_name,
               format_bytes(static_cast<std::int64_t>(max_deck)),
               format_bytes(static_cast<std::int64_t>(text.size())));
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    fail_input(errors::deck_size, "{}: the deck is empty", file_name);
  if (const auto bad = first_byte_not_utf8(text)) {
    fail_input(errors::deck_syntax, "{}:{}: not a text: byte 0x{:02X} is not UTF-8", file_name,
               line_at(text, *bad), static_cast<unsigned char>(text[*bad]));
  }
  if (const auto deep = first_too_deep(text)) {
    fail_input(errors::deck_size, "{}:{}: nested deeper than {} levels; no key of a deck needs that",
               file_name, line_at(text, *deep), max_bracket_depth);
  }
}

bool is_within_limits(std::string_view text) {
  return text.size() <= max_deck && !first_byte_not_utf8(text) && !first_too_deep(text);
}

Lines::Lines(std::string_view text) : text_(text), starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts_.push_back(i + 1);
  }
}

std::size_t Lines::start(std::size_t number) const {
  return number > starts_.size() ? text_.size() : starts_[number - 1];
}

std::string_view Lines::line(std::size_t number) const {
  std::string_view text = text_.substr(start(number));
  text = text.substr(0, text.find('\n'));
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

std::string_view Lines::above(std::size_t number) const {
  return text_.substr(0, start(number));
}

}  // namespace mylos
