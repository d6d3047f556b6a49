#include "mylos/config/schema/entries.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/schema/deck_text.hpp"
#include "mylos/config/schema/schema.hpp"
#include "mylos/config/schema/syntax_error.hpp"

namespace mylos {
namespace {

constexpr const char* command_line = "command line";

/// An entry and the position of its key, to restore the order of the text: toml++ sorts by name.
struct Located {
  Entry entry;
  toml::source_position start;
};

/// Returns a number as its line writes it; toml++ counts characters, not bytes.
std::string_view written(const toml::node& number, const Lines& lines) {
  const toml::source_region& place = number.source();
  const std::string_view line = lines.line(place.begin.line);
  const auto byte_of = [&](std::uint32_t column) {
    std::size_t byte = 0;
    for (std::uint32_t passed = 1; passed < column && byte < line.size(); ++passed) {
      do ++byte;
      while (byte < line.size() && (static_cast<unsigned char>(line[byte]) & 0xC0U) == 0x80U);
    }
    return byte;
  };
  const std::size_t first = byte_of(place.begin.column);
  return line.substr(first, byte_of(place.end.column) - first);
}

/// Detects numbers too small for a double, which toml++ reads as 0.
Value value_of(const toml::value<double>& number, const Lines& lines) {
  if (number.get() == 0) {
    const std::string_view text = written(number, lines);
    if (text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos)
      return {Value::Foreign{fmt::format("the number {}, which is 0 in double", printable(text))}};
  }
  return {number.get()};
}

Value value_of(const toml::node& node, const Lines& lines);

Value::Table table_of(const toml::table& table, const Lines& lines) {
  std::vector<std::pair<const toml::key*, const toml::node*>> members;
  for (auto&& [key, node] : table) members.emplace_back(&key, &node);
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    const auto& first = a.first->source().begin;
    const auto& second = b.first->source().begin;
    return std::tie(first.line, first.column) < std::tie(second.line, second.column);
  });
  Value::Table result;
  for (const auto& [key, node] : members) result.push_back({std::string(key->str()), value_of(*node, lines)});
  return result;
}

Value value_of(const toml::node& node, const Lines& lines) {
  if (const auto* boolean = node.as_boolean()) return {boolean->get()};
  if (const auto* integer = node.as_integer()) return {integer->get()};
  if (const auto* number = node.as_floating_point()) return value_of(*number, lines);
  if (const auto* text = node.as_string()) return {text->get()};
  if (const auto* table = node.as_table()) return {table_of(*table, lines)};
  if (const auto* array = node.as_array()) {
    Value::List list;
    for (const toml::node& element : *array) list.push_back(value_of(element, lines));
    return {std::move(list)};
  }
  return {Value::Foreign{"a date or time"}};
}

/// Returns one part of a path. A part with a dot keeps its quotes, so that "run.name" differs from run.name.
std::string path_part(std::string_view name) {
  return name.find('.') == std::string_view::npos && !name.empty() ? std::string(name)
                                                                   : fmt::format("\"{}\"", name);
}

class Walk {
 public:
  Walk(std::string_view text, const std::string& file_name) : lines_(text), file_name_(file_name) {}

  std::vector<Entry> entries(const toml::table& root) {
    visit(root, "");
    std::sort(found_.begin(), found_.end(), [](const Located& a, const Located& b) {
      return std::tie(a.start.line, a.start.column) < std::tie(b.start.line, b.start.column);
    });
    std::vector<Entry> result;
    for (Located& located : found_) result.push_back(std::move(located.entry));
    return result;
  }

 private:
  void visit(const toml::table& table, const std::string& above) {
    for (auto&& [key, node] : table) {
      const std::string path = above + (above.empty() ? "" : ".") + path_part(key.str());
      const auto* inner = node.as_table();
      const Key* known = schema().find_key(path);
      if (inner == nullptr && known != nullptr && known->tables != nullptr && node.is_array()) {
        for (const toml::node& element : *node.as_array()) {
          add(key, path, {Value::List{value_of(element, lines_)}});
          found_.back().start = element.source().begin;
          found_.back().entry.place.line = element.source().begin.line;
        }
      } else if (inner == nullptr) {
        add(key, path, value_of(node, lines_));
      } else if (schema().find_section(path) != nullptr) {
        if (inner->empty() && inner->is_inline()) {
          fail_input(
              errors::key_without_effect,
              "{}:{}: '{}' is a section, and {{}} gives none of its keys: it has no effect; leave it out",
              file_name_, key.source().begin.line, path);
        }
        visit(*inner, path);
      } else if (known != nullptr && known->has_entries) {
        for (auto&& [name, entry] : *inner) {
          add(name, path, {Value::Table{{std::string(name.str()), value_of(entry, lines_)}}});
        }
      } else if (known != nullptr || inner->empty() || is_header(key)) {
        add(key, path, value_of(node, lines_));
        found_.back().entry.is_section = known == nullptr && is_header(key);
      } else {
        visit(*inner, path);  // messages name an unknown dotted key completely
      }
    }
  }

  void add(const toml::key& key, const std::string& path, Value value) {
    const auto start = key.source().begin;
    found_.push_back({{path, std::move(value), {file_name_, start.line}, false, false, ""}, start});
  }

  [[nodiscard]] bool is_header(const toml::key& key) const {
    const auto line = lines_.line(key.source().begin.line);
    const auto first = line.find_first_not_of(" \t");
    return first != std::string_view::npos && line[first] == '[';
  }

  Lines lines_;
  const std::string& file_name_;
  std::vector<Located> found_;
};

/// Reads the text as one TOML value, otherwise as a plain string.
Value value_of_text(std::string_view text) {
  const Value plain{std::string(text)};
  if (!is_within_limits(text)) return plain;
  try {
    const std::string line = "value = " + std::string(text);
    const toml::table parsed = toml::parse(line, std::string_view(command_line));
    const bool is_one_value = parsed.size() == 1 && text.find('\n') == std::string_view::npos;
    return is_one_value ? value_of(*parsed.get("value"), Lines(line)) : plain;
  } catch (const toml::parse_error&) {
    return plain;
  }
}

/// Returns the entry of the table `key`: the text after its path is the entry's name.
Entry entry_of_table(const Key& key, std::string_view path, std::string_view text) {
  std::string_view name = path.substr(key.path().size() + 1);
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  Entry entry{key.path(), {Value::Table{{std::string(name), value_of_text(text)}}}, {command_line}};
  entry.as_typed = text;
  return entry;
}

Entry entry_of_override(std::string_view override_text) {
  const auto equals = override_text.find('=');
  const std::string_view path = trimmed(override_text.substr(0, equals));
  if (equals == std::string_view::npos || path.empty()) {
    fail_input(errors::bad_argument,
               "command line: '{}' is not of the form section.key=value, without spaces around the sign",
               printable(override_text));
  }
  const std::string_view text = trimmed(override_text.substr(equals + 1));
  for (const Key& key : schema().keys) {
    if (key.has_entries && path.starts_with(key.path() + '.')) return entry_of_table(key, path, text);
  }
  Entry entry{std::string(path), value_of_text(text), {command_line}};
  entry.as_typed = text;
  const Key* known = schema().find_key(path);
  entry.replaces_all = known != nullptr && (known->has_entries || known->tables != nullptr);
  return entry;
}

}  // namespace

std::string Place::text() const {
  return line == 0 ? file : fmt::format("{}:{}", file, line);
}

std::vector<Entry> entries_of_deck(std::string_view text, const std::string& file_name) {
  check_deck_text(text, file_name);
  try {
    return Walk(text, file_name).entries(toml::parse(text, std::string_view(file_name)));
  } catch (const toml::parse_error& error) {
    fail_syntax(text, file_name, error);
  }
}

std::vector<Entry> entries_of_command_line(const std::vector<std::string>& overrides) {
  std::vector<Entry> entries;
  for (const std::string& text : overrides) entries.push_back(entry_of_override(text));
  return entries;
}

}  // namespace mylos
