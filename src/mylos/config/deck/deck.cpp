#include "mylos/config/deck.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_text.hpp"
#include "mylos/config/schema/entries.hpp"
#include "mylos/config/schema/schema.hpp"
#include "mylos/model/chain/short_forms.hpp"

namespace mylos {
namespace {

/// Stores one entry in the options, or throws with its position.
void apply(const Entry& entry, Options& options) {
  const Key* key = schema().find_key(entry.path);
  if (key == nullptr) {
    fail_input(entry.is_section ? errors::unknown_section : errors::unknown_key, "{}: {}", entry.place.text(),
               entry.is_section ? explain_unknown_section(entry.path) : explain_unknown_key(entry.path));
  }
  const bool is_text = std::holds_alternative<std::string>(entry.value.held);
  const bool is_list = key->takes_lists && std::holds_alternative<Value::List>(entry.value.held);
  const bool needs_no_quotes = key->takes_any_text && !entry.as_typed.empty() && !is_text && !is_list;
  const Value value = needs_no_quotes ? Value{entry.as_typed} : entry.value;
  if (entry.replaces_all) key->clear(options);
  if (const auto found = key->read(options, value)) {
    fail_input(found->id, "{}: {}", entry.place.text(), explain_refused_value(*key, value, found->text));
  }
}

/// Applies all entries in order and checks each, even if a later one replaces it. Keys that decide what
/// others set, as a preset, are applied before them, wherever they stand in the deck.
Options options_of(const std::vector<Entry>& entries) {
  Options checked;
  for (const Entry& entry : entries) apply(entry, checked);
  Options options;
  const auto comes_first = [](const Entry& entry) { return schema().find_key(entry.path)->comes_first; };
  for (const Entry& entry : entries) {
    if (comes_first(entry)) apply(entry, options);
  }
  for (const Entry& entry : entries) {
    if (!comes_first(entry)) apply(entry, options);
  }
  return options;
}

/// Returns the key of an entry, with the user's own name for an entry of a table.
std::string full_name(const Entry& entry) {
  const Key* key = schema().find_key(entry.path);
  const auto* table = std::get_if<Value::Table>(&entry.value.held);
  const bool is_named = key != nullptr && key->has_entries && table != nullptr && table->size() == 1;
  return is_named && !entry.replaces_all ? entry.path + '.' + table->front().name : entry.path;
}

void refuse_repeated(const std::vector<Entry>& command_line) {
  std::set<std::string> names;
  for (const Entry& entry : command_line) {
    if (!names.insert(full_name(entry)).second) {
      fail_input(errors::duplicate_key, "{}: '{}' is given twice", entry.place.text(),
                 printable(full_name(entry)));
    }
  }
}

/// Removes the deck's run.epochs or run.steps if the command line gives either key.
void drop_replaced_length(std::vector<Entry>& deck, const std::vector<Entry>& command_line) {
  const auto is_length = [](const Entry& entry) {
    return entry.path == "run.epochs" || entry.path == "run.steps";
  };
  if (std::any_of(command_line.begin(), command_line.end(), is_length)) std::erase_if(deck, is_length);
}

/// Returns the position of each given key, and of each table in a list: "model.layers.2".
GivenPlaces places_of(const std::vector<Entry>& entries) {
  GivenPlaces given;
  std::map<std::string, std::size_t> tables;
  for (const Entry& entry : entries) {
    given[entry.path] = entry.place;
    const Key* key = schema().find_key(entry.path);
    if (key == nullptr || key->tables == nullptr) continue;
    if (!entry.replaces_all) {
      given[fmt::format("{}.{}", entry.path, ++tables[entry.path])] = entry.place;
      continue;
    }
    for (std::size_t& count = tables[entry.path]; count > 0; --count)
      given.erase(fmt::format("{}.{}", entry.path, count));
  }
  return given;
}

/// Refuses a preset whose every own value (those that differ from the defaults) other keys replace: it would
/// have no effect. Keys of the command line may replace a preset of the deck, as they may replace any key.
void refuse_idle_preset(const std::vector<Entry>& entries, const Options& options) {
  const auto is_preset = [](const Entry& entry) { return entry.path == "precision.scaler.preset"; };
  const auto preset = std::find_if(entries.rbegin(), entries.rend(), is_preset);
  if (preset == entries.rend()) return;
  Options standard;
  Options named;
  apply(*preset, named);
  const bool is_of_deck = preset->place.line > 0;
  std::vector<std::string> replaced;
  for (const std::string name : {"initial_scale", "growth_factor", "growth_interval"}) {
    const std::string path = "precision.scaler." + name;
    const Key& key = *schema().find_key(path);
    const bool is_own = to_toml(*key.write(named)) != to_toml(*key.write(standard));
    if (!is_own || !key.effective(options)) continue;
    const bool is_replaced = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.path == path && (entry.place.line > 0 || !is_of_deck);
    });
    if (!is_replaced) return;
    replaced.push_back('\'' + path + '\'');
  }
  if (replaced.empty()) return;  // the defaults, or a static scale that the preset leaves as it is
  fail_input(errors::key_without_effect,
             "{}: '{}' = {} has no effect: {}, given too, {} all that it would change; leave one of them out",
             preset->place.text(), preset->path, to_toml(preset->value), fmt::join(replaced, ", "),
             replaced.size() == 1 ? "replaces" : "replace");
}

NormType usual_norm(ModelType type) {
  if (type == ModelType::gpt || type == ModelType::vit) return NormType::layernorm;
  if (type == ModelType::unet) return NormType::groupnorm;
  if (type == ModelType::fno) return NormType::none;
  return is_short_form(type) ? NormType::batchnorm : NormType::none;
}

/// Sets the defaults that depend on the type of network.
void apply_usual_values(ModelOptions& model, const GivenPlaces& given) {
  if (!given.contains("model.norm")) model.norm = usual_norm(model.type);
  const bool is_vit = model.type == ModelType::vit;
  if (model.type != ModelType::fno && !is_vit) return;
  constexpr std::int64_t fourier_blocks = 4;
  constexpr std::int64_t transformer_blocks = 6;
  constexpr double transformer_mlp = 4;
  if (!given.contains("model.activation")) model.activation = Activation::gelu;
  if (!given.contains("model.blocks")) model.blocks = is_vit ? transformer_blocks : fourier_blocks;
  if (!is_vit) return;
  if (!given.contains("model.channel_mlp")) model.channel_mlp = transformer_mlp;
  if (!given.contains("model.fields") && model.prediction() == Prediction::classes) model.fields = 0;
}

/// Returns a list of tables, each as a separate block.
std::string table_blocks(const Key& key, const Value::List& list) {
  std::string blocks;
  for (const Value& element : list) {
    blocks += fmt::format("\n[[{}]]\n", key.path());
    for (const NamedValue& entry : std::get<Value::Table>(element.held))
      blocks += fmt::format("{} = {}\n", entry.name, to_toml(entry.value));
  }
  return blocks;
}

Deck read(std::string_view text, const std::string& file_name, const std::vector<std::string>& overrides,
          DeckOrigin origin) {
  std::vector<Entry> entries = entries_of_deck(text, file_name);
  options_of(entries);  // reports mistakes of the deck itself first
  const std::vector<Entry> command_line = entries_of_command_line(overrides);
  refuse_repeated(command_line);
  drop_replaced_length(entries, command_line);
  entries.insert(entries.end(), command_line.begin(), command_line.end());

  Deck deck{.options = options_of(entries), .resolved = ""};
  if (deck.options.run.reproducible && deck.options.communication.backend == "auto")
    deck.options.communication.backend = "mpi";  // NCCL chooses its order of summation
  if (deck.options.run.folder.empty()) deck.options.run.folder = "runs/" + deck.options.run.name;
  const GivenPlaces given = places_of(entries);
  for (const auto& [key, place] : given) deck.places.emplace(key, place.text());
  ModelOptions& model = deck.options.model;
  apply_usual_values(model, given);
  model.shape = deck.options.data.shape;
  check_options(deck.options, given, file_name, origin);
  resolve_edges(deck.options, given, file_name);
  if (origin != DeckOrigin::checkpoint) refuse_idle_preset(entries, deck.options);
  model = expand_short_form(std::move(model));
  deck.resolved = resolve(deck.options);
  return deck;
}

}  // namespace

Deck read_deck(std::string_view text, const std::string& file_name,
               const std::vector<std::string>& overrides) {
  return read(text, file_name, overrides, DeckOrigin::user);
}

Deck read_deck_without_length(std::string_view text, const std::string& file_name,
                              const std::vector<std::string>& overrides) {
  return read(text, file_name, overrides, DeckOrigin::user_without_run);
}

Deck read_stored_deck(std::string_view text, const std::string& checkpoint) {
  return read(text, checkpoint + ":/deck", {}, DeckOrigin::checkpoint);
}

Options read_deck(const std::string& path) {
  return read_deck(read_deck_file(path), path, {}).options;
}

std::string read_deck_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) {
    fail_input(errors::no_such_file, "{}: there is no such deck{}; `mylos manual` explains decks", path,
               current_folder_note(path));
  }
  if (!fs::is_regular_file(status)) fail_input(errors::not_a_file, "{}: a deck must be a regular file", path);
  const auto size = fs::file_size(path, failed);
  if (!failed && size > max_deck) {
    fail_input(errors::deck_size, "{}: a deck has at most {}, this one has {}", path,
               format_bytes(static_cast<std::int64_t>(max_deck)),
               format_bytes(static_cast<std::int64_t>(size)));
  }
  return file_text(path);
}

std::string resolve(const Options& options) {
  std::string result = "# Every key that has an effect, with the value that the run uses.\n";
  for (const Section& section : schema().sections) {
    std::string keys;
    std::string tables;  // after the section's other keys, because they end the section
    for (const Key& key : schema().keys) {
      if (key.section != section.name) continue;
      const auto value = key.effective(options);
      if (!value) continue;
      const auto* list = std::get_if<Value::List>(&value->held);
      if (key.tables != nullptr && list != nullptr) {
        tables += table_blocks(key, *list);
      } else {
        keys += fmt::format("{} = {}\n", key.name, to_toml(*value));
      }
    }
    if (!keys.empty() || !tables.empty()) result += fmt::format("\n[{}]\n{}{}", section.name, keys, tables);
  }
  return result;
}

}  // namespace mylos
