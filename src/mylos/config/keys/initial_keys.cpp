// [initial]: the weights that a run takes from run.initial.
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

std::ptrdiff_t stars_of(const std::string& pattern) {
  return std::count(pattern.begin(), pattern.end(), '*');
}

void read_pattern_list(Key& key, std::vector<std::string> InitialOptions::*field) {
  key.read = [field](Options& options, const Value& value) -> std::optional<std::string> {
    std::vector<std::string> patterns;
    if (auto found = read_patterns(patterns, value)) return found;
    options.initial.*field = std::move(patterns);
    return std::nullopt;
  };
  key.write = [field](const Options& options) -> std::optional<Value> {
    if ((options.initial.*field).empty()) return std::nullopt;
    return patterns_value(options.initial.*field);
  };
}

std::optional<std::string> read_rename(const Value& element, RenameRule& rule) {
  const auto* table = std::get_if<Value::Table>(&element.held);
  if (table == nullptr) return describe(element) + " in the list";
  for (const NamedValue& entry : *table) {
    const bool is_from = entry.name == "from";
    if (!is_from && entry.name != "to")
      return fmt::format("a table with the unknown key '{}'", printable(entry.name));
    const auto* pattern = std::get_if<std::string>(&entry.value.held);
    if (pattern == nullptr || !is_path(*pattern))
      return fmt::format("{} for '{}'", describe(entry.value), entry.name);
    (is_from ? rule.from : rule.to) = *pattern;
  }
  if (rule.from.empty() || rule.to.empty())
    return fmt::format("a table without '{}'", rule.from.empty() ? "from" : "to");
  if (stars_of(rule.from) < stars_of(rule.to))
    return fmt::format("\"{}\" for 'to', which has more stars than 'from' = \"{}\"", printable(rule.to),
                       printable(rule.from));
  return std::nullopt;
}

std::optional<std::string> read_renames(Options& options, const Value& value) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  for (const Value& element : *list) {
    RenameRule rule;
    if (auto found = read_rename(element, rule)) return found;
    options.initial.rename.push_back(std::move(rule));
  }
  return std::nullopt;
}

std::optional<Value> write_renames(const Options& options) {
  if (options.initial.rename.empty()) return std::nullopt;
  Value::List list;
  for (const RenameRule& rule : options.initial.rename)
    list.push_back({Value::Table{{"from", {rule.from}}, {"to", {rule.to}}}});
  return Value{std::move(list)};
}

}  // namespace

void add_initial_keys(Schema& schema) {
  Keys keys(
      schema, "initial",
      "The weights that a run takes from the file `run.initial` before its first step (`docs/initial.md`).",
      [](auto& options) -> auto& { return options.initial; });
  const std::string patterns = "name or list of names, '*' for any characters";
  Key& include =
      keys.add("include", patterns, "a ",
               "Names of the parameters to take from the file: `head/weight`, as printed by `mylos info`.");
  read_pattern_list(include, &InitialOptions::include);
  keys.finish(include);
  Key& exclude = keys.add("exclude", patterns, "a ",
                          "Exceptions from `include`, which are drawn at random: `exclude = \"head/*\"` for "
                          "another number of classes.");
  read_pattern_list(exclude, &InitialOptions::exclude);
  exclude.default_text = "none";
  keys.choice("missing", &InitialOptions::missing,
              Words<MissingWeights>{{"error", MissingWeights::refuse}, {"draw", MissingWeights::draw}},
              "Treatment of parameters that the file lacks: error refuses the run, draw draws them at random "
              "and logs it.");
  keys.boolean(
      "average", &InitialOptions::average,
      "Takes the moving average of a checkpoint's weights (`optimizer.average`) instead of the weights.");
  Key& ignore =
      keys.add("ignore", "key or list of keys, '*' for any characters", "a ",
               "Keys that may differ from the deck stored in the file, although the network then computes "
               "differently with the weights taken. Without this key such a file is refused and the message "
               "lists the keys: `model.activation`, `model.layers.conv1.stride`, `data.normalize`. A listed "
               "key that does not differ is refused.");
  read_pattern_list(ignore, &InitialOptions::ignore);
  ignore.default_text = "none";
  Key& rename =
      keys.add("rename", "list of tables with `from` and `to` (names, '*' for any characters)", "a ",
               "Maps names of the file's tensors to names of parameters: `[[initial.rename]]`, `from = "
               "\"encoder.*.weight\"`, `to = \"hidden*/weight\"`. A '*' in `to` stands for the text that the "
               "'*' in `from` has matched. The last matching table applies.");
  rename.is_table_list = true;
  rename.read = read_renames;
  rename.write = write_renames;
  rename.clear = [](Options& options) { options.initial.rename.clear(); };
  rename.default_text = "none";
  keys.only_with(with_given("run.initial"));
}

}  // namespace mylos
