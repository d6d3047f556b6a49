// Reads and writes the tables of lists: [[model.layers]], [[optimizer.groups]].
#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/deck.hpp"
#include "mylos/config/schema/schema.hpp"
#include "mylos/config/schema/types/value_type.hpp"

namespace mylos {
namespace {

const NamedValue* find_member(const Value::Table& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const NamedValue& member) { return member.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Key* find_key(const TableList& list, std::string_view name) {
  const auto found =
      std::find_if(list.keys.begin(), list.keys.end(), [name](const Key& key) { return key.name == name; });
  return found == list.keys.end() ? nullptr : &*found;
}

/// Stores the members in the options, or describes the first one that is not a key or has a wrong value. The
/// order is that of the keys, since some are of the kind that an earlier one chooses.
Found read_members(const TableList& list, Options& options, const Value::Table& table) {
  for (const NamedValue& member : table) {
    if (find_key(list, member.name) == nullptr)
      return Mismatch("with " + explain_unknown_member(list, member.name), errors::unknown_key);
  }
  for (const Key& key : list.keys) {
    const NamedValue* member = find_member(table, key.name);
    if (member == nullptr) continue;
    if (const auto found = key.read(options, member->value))
      return Mismatch("with " + explain_refused_member(key, member->value, found->text), found->id);
  }
  return std::nullopt;
}

/// Returns the options of a table with the required keys of this one alone.
Options with_required_keys(const TableList& list, const Options& options) {
  Options result = list.one_by_default;
  for (const Key& key : list.keys) {
    if (!key.is_required) continue;
    if (const auto value = key.write(options)) static_cast<void>(key.read(result, *value));
  }
  return result;
}

/// Describes a required key that is missing.
Found missing_key(const TableList& list, const Options& options, const Value::Table& table) {
  const auto missing = [](std::string text) { return Mismatch(std::move(text), errors::missing_key); };
  for (const Key& key : list.keys) {
    if (!key.is_required || key.unmet(options) != nullptr) continue;
    if (find_member(table, key.name) != nullptr && key.write(options)) continue;
    if (!key.only_with.empty())
      return missing(fmt::format("without '{}', which {} needs", key.name, key.only_with.front().text));
    const bool is_choice = !key.choices.empty();
    return missing(fmt::format("without '{}'{}", key.name, is_choice ? ", which is one of " + key.type : ""));
  }
  return std::nullopt;
}

/// Describes a key that is given but has no effect.
Found ineffective_key(const TableList& list, const Options& options, const Value::Table& table) {
  for (const NamedValue& member : table) {
    if (const Condition* unmet = find_key(list, member.name)->unmet(options))
      return Mismatch(fmt::format("with '{}', which only {} has", member.name, unmet->text),
                      errors::key_without_effect);
  }
  return std::nullopt;
}

}  // namespace

Found read_table(const TableList& list, Options& options, std::size_t number, const Value& value) {
  const auto* table = std::get_if<Value::Table>(&value.held);
  if (table == nullptr) return describe(value) + " in the list";
  Found found = read_members(list, options, *table);
  if (!found) found = missing_key(list, options, *table);
  if (!found) found = ineffective_key(list, options, *table);
  if (!found) return list.mistake ? list.mistake(options) : std::nullopt;
  const std::string table_name = list.noun.empty() ? "a table" : fmt::format("{} {}", list.noun, number);
  return Mismatch(fmt::format("{} {}", table_name, found->text), found->id);
}

Value written_table(const TableList& list, const Options& options) {
  Value::Table table;
  const Options defaults = with_required_keys(list, options);
  for (const Key& key : list.keys) {
    auto value = key.effective(options);
    if (!value) continue;
    const auto usual = key.write(defaults);
    if (key.is_required || !usual || to_toml(*usual) != to_toml(*value))
      table.push_back({key.name, *std::move(value)});
  }
  return {std::move(table)};
}

}  // namespace mylos
