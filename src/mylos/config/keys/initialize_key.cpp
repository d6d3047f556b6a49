#include "mylos/config/keys/initialize_key.hpp"

#include "mylos/base/numbers/nearest.hpp"
#include "mylos/config/schema/keys.hpp"

namespace mylos {
namespace {

const Words<Initializer>& initializer_words() {
  using enum Initializer;
  static const Words<Initializer> words{{"xavier_uniform", xavier_uniform},
                                        {"xavier_normal", xavier_normal},
                                        {"he_uniform", he_uniform},
                                        {"he_normal", he_normal},
                                        {"orthogonal", orthogonal},
                                        {"normal", normal},
                                        {"uniform", uniform},
                                        {"constant", constant}};
  return words;
}

std::vector<std::string> initializer_names() {
  std::vector<std::string> names;
  for (const auto& [word, meant] : initializer_words()) names.push_back(word);
  return names;
}

/// Returns the name of the number that a kind requires; nullptr: it may have a gain.
const char* number_of(Initializer kind) {
  return kind == Initializer::normal     ? "std"
         : kind == Initializer::uniform  ? "bound"
         : kind == Initializer::constant ? "value"
                                         : nullptr;
}

std::optional<std::string> read_kind(const Value& value, Initializer& kind) {
  const auto* text = std::get_if<std::string>(&value.held);
  for (const auto& [word, meant] : initializer_words()) {
    if (text == nullptr || *text != word) continue;
    kind = meant;
    return std::nullopt;
  }
  const auto near = text == nullptr ? std::nullopt : nearest(*text, initializer_names(), 3);
  return fmt::format("{} for 'kind'{}", describe(value),
                     near ? fmt::format(" (did you mean \"{}\"?)", *near)
                          : fmt::format(", which is one of {}", alternatives(initializer_names())));
}

std::optional<std::string> read_amount(const NamedValue& entry, InitialRule& rule) {
  constexpr NumberRange positive{0, false, 1000, true};
  constexpr NumberRange any{-1e30, true, 1e30, true};
  const bool is_value = entry.name == "value";
  const NumberRange range = is_value ? any : positive;
  const auto number = number_in(entry.value);
  if (!number || !range.holds(*number))
    return fmt::format("{} for '{}', a number {}", describe(entry.value), entry.name, range.text());
  if (const std::string left = range.out_of_range_in_float(*number); !left.empty())
    return fmt::format("{} for '{}', which is {} in float", describe(entry.value), entry.name, left);
  if (entry.name == "gain") {
    rule.gain = *number;
  } else {
    (is_value ? rule.value : entry.name == "std" ? rule.std : rule.bound) = *number;
  }
  return std::nullopt;
}

/// Checks that the table has exactly the numbers that the kind needs.
std::optional<std::string> require_amounts(const Value::Table& table, Initializer kind) {
  const char* needed = number_of(kind);
  const std::string name = initializer_words()[static_cast<std::size_t>(kind)].first;
  bool has_needed = needed == nullptr;
  for (const NamedValue& entry : table) {
    if (entry.name == "match" || entry.name == "kind") continue;
    has_needed = has_needed || entry.name == needed;
    if (entry.name != (needed == nullptr ? "gain" : needed))
      return fmt::format("a table with '{}', which kind = \"{}\" does not have", entry.name, name);
  }
  if (!has_needed) return fmt::format("a table without '{}', which kind = \"{}\" needs", needed, name);
  return std::nullopt;
}

std::optional<std::string> read_rule(const Value& element, InitialRule& rule) {
  const auto* table = std::get_if<Value::Table>(&element.held);
  if (table == nullptr) return describe(element) + " in the list";
  bool has_kind = false;
  for (const NamedValue& entry : *table) {
    std::optional<std::string> found;
    if (entry.name == "match") {
      found = read_patterns(rule.match, entry.value);
      if (found) *found += " for 'match'";
    } else if (entry.name == "kind") {
      found = read_kind(entry.value, rule.kind);
      has_kind = true;
    } else if (entry.name == "gain" || entry.name == "std" || entry.name == "bound" ||
               entry.name == "value") {
      found = read_amount(entry, rule);
    } else {
      const auto near = nearest(entry.name, {"match", "kind", "gain", "std", "bound", "value"}, 2);
      return fmt::format("a table with the unknown key '{}'{}", printable(entry.name),
                         near ? fmt::format(" (did you mean '{}'?)", *near) : "");
    }
    if (found) return found;
  }
  if (rule.match.empty()) return "a table without 'match'";
  if (!has_kind) return "a table without 'kind'";
  return require_amounts(*table, rule.kind);
}

Value rule_value(const InitialRule& rule) {
  Value::Table table{{"match", patterns_value(rule.match)}};
  table.push_back({"kind", {initializer_words()[static_cast<std::size_t>(rule.kind)].first}});
  if (rule.gain) table.push_back({"gain", {*rule.gain}});
  if (rule.kind == Initializer::normal) table.push_back({"std", {rule.std}});
  if (rule.kind == Initializer::uniform) table.push_back({"bound", {rule.bound}});
  if (rule.kind == Initializer::constant) table.push_back({"value", {rule.value}});
  return {std::move(table)};
}

std::optional<std::string> read_rules(Options& options, const Value& value) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  for (const Value& element : *list) {
    InitialRule rule;
    if (auto found = read_rule(element, rule)) return found;
    options.model.initialize.push_back(std::move(rule));
  }
  return std::nullopt;
}

}  // namespace

Key initialize_key() {
  Key key;
  key.section = "model";
  key.name = "initialize";
  key.type = fmt::format(
      "list of tables with `match` (a name or a list of names, '*' for any characters), `kind` ({}) and "
      "`gain` "
      "(xavier, he, orthogonal), `std` (normal), `bound` (uniform) or `value` (constant)",
      alternatives(initializer_names()));
  key.article = "a ";
  key.meaning =
      "Distributions of initial values by parameter name: `[[model.initialize]]`, `match = "
      "\"conv*/weight\"`, `kind = \"he_normal\"`. The last matching table applies; other parameters use "
      "their layer's default. `docs/formulas.md` has the formulas of both. The values do not depend on the "
      "number of ranks.";
  key.is_table_list = true;
  key.read = read_rules;
  key.write = [](const Options& options) -> std::optional<Value> {
    if (options.model.initialize.empty()) return std::nullopt;
    Value::List list;
    for (const InitialRule& rule : options.model.initialize) list.push_back(rule_value(rule));
    return Value{std::move(list)};
  };
  key.clear = [](Options& options) { options.model.initialize.clear(); };
  key.default_text = "none";
  return key;
}

}  // namespace mylos
