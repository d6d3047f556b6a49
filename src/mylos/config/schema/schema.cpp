#include "mylos/config/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/numbers/nearest.hpp"
#include "mylos/config/schema/key_names.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/value_type.hpp"

namespace mylos {
namespace {

Schema build() {
  Schema result;
  add_run_keys(result);
  add_initial_keys(result);
  add_data_keys(result);
  add_array_keys(result);
  add_augment_keys(result);
  add_weight_keys(result);
  add_model_keys(result);
  add_rollout_keys(result);
  add_precision_keys(result);
  add_memory_keys(result);
  add_optimizer_keys(result);
  add_schedule_keys(result);
  add_machine_keys(result);
  add_health_keys(result);
  result.other_names = names_of_other_frameworks();
  result.other_words = words_of_other_frameworks();
  result.refused_names = refused_names_of_other_frameworks();
  return result;
}

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.rfind('.') + 1));
}

std::string comma_separated(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ", ") + word;
  return result;
}

std::vector<std::string> keys_of(const std::string& section) {
  std::vector<std::string> names;
  for (const Key& key : schema().keys) {
    if (key.section == section) names.push_back(key.name);
  }
  for (const Section& other : schema().sections) {
    if (other.name.starts_with(section + '.')) names.push_back(other.name.substr(section.size() + 1));
  }
  return names;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Section& section : schema().sections) names.push_back(section.name);
  return names;
}

/// Returns the path in lower case, with '_' between words.
std::string normalized(std::string_view path) {
  std::string result(path);
  for (char& c : result) c = c == '-' ? '_' : 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

/// Returns the key that other frameworks call by this name: by the complete path or by its last part, in any
/// letter case.
std::optional<std::string> key_of_other_name(std::string_view path) {
  const std::string wanted = normalized(path);
  for (const std::string& name : {wanted, last_part(wanted)}) {
    for (const OtherName& other : schema().other_names) {
      if (other.name == name) return other.path;
    }
  }
  return std::nullopt;
}

/// Returns the key that was probably meant: the one that other frameworks call by this name, otherwise one
/// with a similar path, otherwise the one with this name in another section.
std::optional<std::string> nearest_key(std::string_view path) {
  if (auto meant = key_of_other_name(path)) return meant;
  const std::string name = last_part(path);
  std::vector<std::string> paths;
  for (const Key& key : schema().keys) paths.push_back(key.path());
  if (auto near = nearest(path, paths, 1 + name.size() / 4)) return near;
  const auto same_name = std::find_if(paths.begin(), paths.end(),
                                      [&](const std::string& other) { return last_part(other) == name; });
  if (same_name == paths.end()) return std::nullopt;
  return *same_name;
}

/// Returns the key's word that was probably meant: the one that other frameworks call so, otherwise the most
/// similar one.
std::optional<std::string> nearest_word(const Key& key, const std::string& given) {
  const std::string wanted = normalized(given);
  const auto is_ours = [&](const std::string& word) {
    return std::find(key.choices.begin(), key.choices.end(), word) != key.choices.end();
  };
  for (const OtherWord& other : schema().other_words) {
    if (other.name != wanted) continue;
    if (other.word.empty()) return std::nullopt;
    if (is_ours(other.word)) return other.word;
  }
  return nearest(wanted, key.choices, 1 + wanted.size() / 4);
}

/// Returns `; did you mean "bf16"?` if the value is nearly one of the key's words.
std::string meant_word(const Key& key, const Value& value) {
  const auto* word = std::get_if<std::string>(&value.held);
  if (word == nullptr) return "";
  const auto near = nearest_word(key, *word);
  return near ? fmt::format("; did you mean \"{}\"?", *near) : "";
}

/// Returns why there is no key that other frameworks call by the last part of this name; "" if none is known.
std::string reason_against(std::string_view path) {
  const auto& refused = schema().refused_names;
  const auto found = std::find_if(
      refused.begin(), refused.end(),
      [name = last_part(normalized(path))](const RefusedName& other) { return other.name == name; });
  return found == refused.end() ? "" : found->reason;
}

std::string list_sections() {
  return "the sections are " + comma_separated(section_names());
}

}  // namespace

const Schema& schema() {
  static const Schema the_schema = build();
  return the_schema;
}

Key& Key::limit(Condition condition) {
  only_with.push_back(std::move(condition));
  return *this;
}

Key& Key::require() {
  is_required = true;
  default_text = "none";
  return *this;
}

Key& Key::by_default(std::string words) {
  default_text = std::move(words);
  return *this;
}

const Condition* Key::unmet(const Options& options) const {
  for (const Condition& condition : only_with) {
    if (condition.holds(options)) continue;
    if (condition.value.empty()) return &condition;
    const auto given = write(options);
    if (given && to_toml(*given) == condition.value) return &condition;
  }
  return nullptr;
}

std::optional<Value> Key::effective(const Options& options) const {
  return unmet(options) == nullptr ? write(options) : std::nullopt;
}

const Key* Schema::find_key(std::string_view path) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) {
    const std::size_t dot = key.section.size();
    return path.size() == dot + 1 + key.name.size() && path[dot] == '.' && path.starts_with(key.section) &&
           path.ends_with(key.name);
  });
  return found == keys.end() ? nullptr : &*found;
}

const Section* Schema::find_section(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& section) { return section.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

std::optional<std::string> key_called(std::string_view name) {
  if (schema().find_key(name) != nullptr) return std::string(name);
  std::vector<const Key*> found;
  for (const Key& key : schema().keys) {
    if (key.name == name && key.section == "run") return key.path();
    if (key.name == name) found.push_back(&key);
  }
  if (found.size() == 1) return found.front()->path();
  return found.empty() ? key_of_other_name(name) : std::nullopt;
}

std::string explain_unknown_key(std::string_view path) {
  const std::string shown = printable(path);
  if (schema().find_section(path) != nullptr) {
    return fmt::format("'{}' is a section, not a key; its keys are {}", shown,
                       comma_separated(keys_of(std::string(path))));
  }
  if (const std::string reason = reason_against(path); !reason.empty())
    return fmt::format("unknown key '{}': {}", shown, reason);
  if (const auto near = nearest_key(path)) {
    return fmt::format("unknown key '{}'; did you mean '{}'?", shown, *near);
  }
  const auto dot = path.rfind('.');
  const auto* section = dot == std::string_view::npos ? nullptr : schema().find_section(path.substr(0, dot));
  if (section == nullptr) return fmt::format("unknown key '{}'; {}", shown, list_sections());
  return fmt::format("unknown key '{}'; the keys of [{}] are {}", shown, section->name,
                     comma_separated(keys_of(section->name)));
}

std::string explain_unknown_section(std::string_view name) {
  const std::string shown = printable(name);
  if (const auto near = nearest(name, section_names(), 1 + name.size() / 4)) {
    return fmt::format("unknown section [{}]; did you mean [{}]?", shown, *near);
  }
  for (const Section& section : schema().sections) {
    if (last_part(section.name) == last_part(name)) {
      return fmt::format("unknown section [{}]; did you mean [{}]?", shown, section.name);
    }
  }
  if (const std::string reason = reason_against(name); !reason.empty())
    return fmt::format("unknown section [{}]: {}", shown, reason);
  if (const auto key = key_of_other_name(name))
    return fmt::format("unknown section [{}]; did you mean the key '{}'?", shown, *key);
  return fmt::format("unknown section [{}]; {}", shown, list_sections());
}

std::string explain_refused_value(const Key& key, const Value& value, const std::string& found) {
  return fmt::format("'{}' must be {}{}, not {}{}", key.path(), key.article, key.type, found,
                     meant_word(key, value));
}

std::string explain_unknown_member(const TableList& list, const std::string& name) {
  std::vector<std::string> names;
  for (const Key& key : list.keys) names.push_back(key.name);
  if (const auto near = nearest(name, names, 1 + name.size() / 4))
    return fmt::format("'{}'; did you mean '{}'?", printable(name), *near);
  return fmt::format("'{}', which is none of {}", printable(name), alternatives(names));
}

std::string explain_refused_member(const Key& key, const Value& value, const std::string& found) {
  const bool shows_value = found == describe(value) && !std::holds_alternative<Value::Foreign>(value.held);
  const std::string given = shows_value ? fmt::format("{} = {}", key.name, printable(to_toml(value), 200))
                                        : fmt::format("'{}'", key.name);
  return fmt::format("{}, which must be {}{}{}{}", given, key.article, key.type,
                     shows_value ? "" : ", not " + found, meant_word(key, value));
}

}  // namespace mylos
