// The closed schema of the deck: one table of keys, which drives reading, messages, the resolved deck and the
// manual. The keys of a table in a list ([[model.layers]]) are keys like those of a section.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/config/schema/types/value.hpp"

namespace mylos {

/// A condition on other keys under which a key has an effect.
struct Condition {
  std::string text;               // follows "only with": `optimizer.type = "sgd"`
  std::vector<std::string> keys;  // the keys that decide it; a message states their values
  std::function<bool(const Options&)> holds;
  std::string value{};  // the value of the key itself, as TOML, that has this condition; empty: all values
};

struct TableList;

struct Key {
  std::string section;  // "precision.scaler"; of a table in a list: the list, "model.layers"
  std::string name;     // "mode"
  std::string type;     // with its range: "integer from 0 to 65536"; `article` precedes it in messages
  std::string article;  // "a ", "an " or empty
  std::string unit;     // empty if there is none
  std::string meaning;
  std::string default_text;          // as a deck would write it, or words if the default is not a value
  std::vector<std::string> choices;  // for a key that takes one of several words
  bool takes_any_text = false;       // on a command line its value never needs quotes
  bool takes_lists = false;          // a list on a command line is a list, although its texts need no quotes
  bool comes_first = false;          // decides what other keys set: is read before them, wherever it stands
  bool is_required = false;          // a table of a list must give the key if the key has an effect
  bool has_entries = false;          // a table of the user's own names (precision.rules), read entry by entry
  std::vector<Condition> only_with;  // the key has an effect if all of them hold
  std::shared_ptr<const TableList> tables = {};  // of a list of tables ([[optimizer.groups]]), otherwise none

  /// Stores the value in the options, or returns why it is not of `type`.
  std::function<Found(Options&, const Value&)> read;
  /// Returns the value in these options; nothing if the deck would not give the key.
  std::function<std::optional<Value>(const Options&)> write;
  /// Removes all entries or tables. Only for has_entries or a list of tables.
  std::function<void(Options&)> clear;

  [[nodiscard]] std::string path() const { return section + '.' + name; }
  /// Declares another condition under which the key has an effect.
  Key& limit(Condition condition);
  /// Makes the key one that every table of a list must give.
  Key& require();
  /// Describes a default that is not a value: "conv 1, pools 2".
  Key& by_default(std::string words);
  /// Returns the first condition that does not hold; nullptr if the key has an effect.
  [[nodiscard]] const Condition* unmet(const Options& options) const;
  /// Returns the value in these options if it has an effect: the entry of a resolved deck.
  [[nodiscard]] std::optional<Value> effective(const Options& options) const;
};

/// The tables of a list: [[model.layers]].
struct TableList {
  std::string noun{};        // of one table in messages: "layer" gives "layer 3"; empty: "a table"
  std::string meaning{};     // for the manual, as Markdown
  std::deque<Key> keys{};    // they read and write the last table of the list in the options
  Options one_by_default{};  // has one table
  std::function<Found(const Options&)> mistake{};  // of the last table as a whole
};

/// Reads a table into the last table of the list, its number `number`, or returns why it does not fit.
[[nodiscard]] Found read_table(const TableList& list, Options& options, std::size_t number,
                               const Value& value);
/// Returns the last table of the list: its required keys, and those that differ from their defaults.
[[nodiscard]] Value written_table(const TableList& list, const Options& options);

struct Section {
  std::string name;
  std::string meaning;
};

/// The name of a key in another framework.
struct OtherName {
  std::string name;  // of a key in any section, or its complete path; lower case, with '_' between words
  std::string path;  // our key
};

/// The word of another framework for one of a key's words.
struct OtherWord {
  std::string name;  // lower case, with '_' between words
  std::string word;  // ours; empty: there is none
};

/// A key of another framework that has no counterpart here.
struct RefusedName {
  std::string name;    // of a key in any section; lower case, with '_' between words
  std::string reason;  // continues a message, with what to set instead
};

struct Schema {
  std::vector<Section> sections;
  std::deque<Key> keys;  // references to keys stay valid while more are added
  std::vector<OtherName> other_names;
  std::vector<OtherWord> other_words;
  std::vector<RefusedName> refused_names;

  [[nodiscard]] const Key* find_key(std::string_view path) const;
  [[nodiscard]] const Section* find_section(std::string_view name) const;
};

[[nodiscard]] const Schema& schema();

/// Explains why `path` is not a key: it is a section, is refused for a reason, is misspelt (names the nearest
/// key), or is unknown (lists the available keys).
[[nodiscard]] std::string explain_unknown_key(std::string_view path);

/// Explains the same for the name in a [section] line.
[[nodiscard]] std::string explain_unknown_section(std::string_view name);

/// Explains why `key` refused a value; `found` is the result of read().
[[nodiscard]] std::string explain_refused_value(const Key& key, const Value& value, const std::string& found);

/// The same two explanations for a key of a table in a list, worded to follow "layer 3 with".
[[nodiscard]] std::string explain_unknown_member(const TableList& list, const std::string& name);
[[nodiscard]] std::string explain_refused_member(const Key& key, const Value& value,
                                                 const std::string& found);

}  // namespace mylos
