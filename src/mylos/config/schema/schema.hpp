// The closed schema of the deck: one table of keys, from which reading, messages, the echo and the manual
// come.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/config/schema/value.hpp"

namespace mylos {

/// What the other keys must say for a key to have an effect.
struct Condition {
  std::string text;               // behind "only with": `optimizer.type = "sgd"`
  std::vector<std::string> keys;  // that decide it; a message says what they are
  std::function<bool(const Options&)> holds;
  std::string value{};  // of the key itself, as TOML, which alone needs it; empty: every value does
};

struct Key {
  std::string section;  // "precision.scaler"
  std::string name;     // "mode"
  std::string type;     // with its range: "integer from 0 to 65536"; messages put `article` before it
  std::string article;  // "a ", "an " or nothing
  std::string unit;     // empty where there is none
  std::string meaning;
  std::string default_text;          // as a deck would write it, or words where the default is no value
  std::vector<std::string> choices;  // of a key that takes one of several words
  bool takes_any_text = false;       // a command line needs no quotes for it, whatever it looks like
  bool is_table_list = false;        // a list of tables, read table by table: [[optimizer.groups]]
  bool has_entries = false;          // a table of the user's own names (precision.rules), read entry by entry
  std::vector<Condition> only_with;  // all of them must hold for the key to have an effect

  /// Puts the value into the options. Returns what was found instead when the value is not of `type`.
  std::function<std::optional<std::string>(Options&, const Value&)> read;
  /// The value in these options; nothing where the deck would say nothing.
  std::function<std::optional<Value>(const Options&)> write;
  /// Forgets all entries. Only where has_entries or is_table_list.
  std::function<void(Options&)> clear;

  [[nodiscard]] std::string path() const { return section + '.' + name; }
  /// The first condition that does not hold; nullptr where the key has an effect.
  [[nodiscard]] const Condition* unmet(const Options& options) const;
  /// The value in these options where it has an effect: what a resolved deck says.
  [[nodiscard]] std::optional<Value> effective(const Options& options) const;
};

struct Section {
  std::string name;
  std::string meaning;
};

/// A key under the name that others have for it.
struct OtherName {
  std::string name;  // of a key in any section, or its whole path; in small letters, with '_' between words
  std::string path;  // our key
};

struct Schema {
  std::vector<Section> sections;
  std::deque<Key> keys;  // references to keys stay valid while more are added
  std::vector<OtherName> other_names;

  [[nodiscard]] const Key* find_key(std::string_view path) const;
  [[nodiscard]] const Section* find_section(std::string_view name) const;
};

[[nodiscard]] const Schema& schema();

/// Why `path` is no key: it is a section, is misspelt (with the nearest key), or is unknown
/// (with the keys that there are).
[[nodiscard]] std::string explain_unknown_key(std::string_view path);

/// The same for the name in a [section] line.
[[nodiscard]] std::string explain_unknown_section(std::string_view name);

/// What is wrong with a value that `key` refused; `found` is what read() returned.
[[nodiscard]] std::string explain_refused_value(const Key& key, const Value& value, const std::string& found);

}  // namespace mylos
