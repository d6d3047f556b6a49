#include "mylos/config/schema/syntax_error.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/schema/deck_text.hpp"
#include "mylos/config/schema/types/value.hpp"

namespace mylos {
namespace {

/// Returns whether the text has only letters, digits, '_', '-', and dots between the parts of a path.
bool is_bare(std::string_view text, std::string_view also = "") {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alphanumeric || c == '_' || c == '-' || c == '.' || also.find(c) != std::string_view::npos;
  });
}

/// Returns precision.scaler for the line "[precision.scaler]", an empty text for other lines.
std::string_view header_in(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('[')) return {};
  const auto name = trimmed(line.substr(1, line.find(']') - 1));
  return is_bare(name) ? name : std::string_view{};
}

/// Returns lr for the line "lr = 1", an empty text for other lines.
std::string_view key_in(std::string_view line) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) return {};
  const auto key = trimmed(line.substr(0, equals));
  return is_bare(key) ? key : std::string_view{};
}

/// Returns bf16 for the line "compute = bf16": text without its quotes.
std::string_view bare_text_in(std::string_view line) {
  if (key_in(line).empty()) return {};
  line = trimmed(line.substr(line.find('=') + 1));
  line = trimmed(line.substr(0, line.find('#')));
  const bool is_number =
      line.empty() || (line[0] >= '0' && line[0] <= '9') || line[0] == '-' || line[0] == '.';
  return !is_number && is_bare(line, "/") ? line : std::string_view{};
}

/// Returns the section of a line, followed by a dot; "" above the first [section].
std::string section_above(const Lines& lines, std::size_t number) {
  while (--number > 0) {
    const auto header = header_in(lines.line(number));
    if (!header.empty()) return std::string(header) + '.';
  }
  return "";
}

/// Returns the line of the text that gives this key first, 0 if it cannot be determined.
std::size_t first_line_of(std::string_view text, const std::string& path) {
  try {
    const toml::table parsed = toml::parse(text);
    const auto found = parsed.at_path(path);
    return found ? found.node()->source().begin.line : 0;
  } catch (const toml::parse_error&) {
    return 0;
  }
}

[[noreturn]] void fail_duplicate(const Lines& lines, const std::string& file_name, std::size_t number) {
  const auto header = header_in(lines.line(number));
  const auto key = key_in(lines.line(number));
  const std::string path =
      header.empty() ? section_above(lines, number) + std::string(key) : std::string(header);
  const std::size_t first = first_line_of(lines.above(number), path);
  if (first == 0)
    fail_input(errors::duplicate_key, "{}:{}: a key in this line is a duplicate", file_name, number);
  fail_input(errors::duplicate_key, "{}:{}: duplicate {} '{}'; it was first given in line {}", file_name,
             number, header.empty() ? "key" : "section", printable(path), first);
}

/// Returns the parser's description, reduced to what the message needs.
std::string description_of(const toml::parse_error& error) {
  constexpr std::string_view preface = "Error while parsing ";
  std::string text = printable(error.description(), 200);
  if (text.starts_with(preface)) text = "in the " + text.substr(preface.size());
  const bool is_bare_text = text.starts_with("in the boolean");
  return is_bare_text ? text + " (text needs quotes)" : text;
}

}  // namespace

void fail_syntax(std::string_view text, const std::string& file_name, const toml::parse_error& error) {
  const Lines lines(text);
  const std::size_t number = error.source().begin.line;
  const std::size_t column = error.source().begin.column;
  if (error.description().find("redefine") != std::string_view::npos)
    fail_duplicate(lines, file_name, number);
  const auto bare_text = bare_text_in(lines.line(number));
  if (!bare_text.empty()) {
    fail_input(errors::deck_syntax, "{}:{}:{}: text needs quotes: \"{}\"", file_name, number, column,
               printable(bare_text));
  }
  fail_input(errors::deck_syntax, "{}:{}:{}: not TOML: {}", file_name, number, column, description_of(error));
}

}  // namespace mylos
