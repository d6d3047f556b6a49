#include "sweep_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "mylos/io/files/file_pieces.hpp"
#include "mylos/io/tables/csv_rows.hpp"
#include "mylos/sweep/state/sweep_table.hpp"
#include "run_folder.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_sweep_bytes = std::size_t{8} << 20;  // a deck in it has 1 MiB at most
constexpr KnownDocument known_sweep{"sweep.json", "mylos-sweep", 1, max_sweep_bytes};
constexpr std::size_t max_swept_keys = 64;
constexpr std::size_t max_values = 1000;
constexpr std::size_t max_rungs = 64;
constexpr std::size_t max_sweep_members = 10'000;
constexpr std::size_t max_cell_bytes = 500;

std::int64_t whole_member(const ordered_json& document, const char* key) {
  const double value = number_member(document, key, 0);
  return std::abs(value) < 9e15 ? static_cast<std::int64_t>(value) : 0;  // beyond, a double has no unit digit
}

/// Nothing if the entry is not as `mylos sweep` writes it.
std::optional<SweepKey> key_of(const ordered_json& entry) {
  SweepKey key{.key = text_member(entry, "key")};
  if (key.key.empty() || key.key.size() > max_cell_bytes) return std::nullopt;
  if (text_member(entry, "kind") == "range") {
    key.low = number_member(entry, "low", 0);
    key.high = number_member(entry, "high", 0);
    key.is_logarithmic = text_member(entry, "scale") == "log" && key.low > 0;
    key.is_integer = entry.contains("integer") && entry["integer"] == true;
    return key.low < key.high ? std::optional(key) : std::nullopt;
  }
  if (!entry.contains("values") || !entry["values"].is_array() || entry["values"].empty())
    return std::nullopt;
  for (const ordered_json& value : entry["values"]) {
    if (key.values.size() == max_values) break;
    key.values.push_back(
        (value.is_string() ? value.get<std::string>() : value.dump()).substr(0, max_cell_bytes));
  }
  return key;
}

void read_keys(const ordered_json& document, StoredSweep& sweep, ordered_json& notes) {
  if (!document.contains("keys") || !document["keys"].is_array()) {
    notes.push_back("sweep.json: has no list of keys");
    return;
  }
  std::int64_t skipped = 0;
  for (const ordered_json& entry : document["keys"]) {
    std::optional<SweepKey> key = key_of(entry);
    if (key && sweep.keys.size() < max_swept_keys)
      sweep.keys.push_back(std::move(*key));
    else
      ++skipped;
  }
  if (skipped > 0) notes.push_back(fmt::format("sweep.json: {} of its keys left out", skipped));
}

void read_description(const std::string& folder, StoredSweep& sweep, ordered_json& notes) {
  std::error_code failure;
  if (!std::filesystem::exists(folder + "/sweep.json", failure))
    notes.push_back("sweep.json: is missing: the keys of the members are not known");
  const ordered_json document = read_object(folder, known_sweep, notes);
  if (!document.is_object()) return;
  sweep.name = text_member(document, "name").substr(0, max_cell_bytes);
  sweep.deck = text_member(document, "deck");
  sweep.metric = text_member(document, "metric").substr(0, max_cell_bytes);
  sweep.higher_is_better = text_member(document, "better") == "higher";
  sweep.strategy = text_member(document, "strategy").substr(0, max_cell_bytes);
  sweep.trials = whole_member(document, "trials");
  sweep.ranks_per_trial = whole_member(document, "ranks_per_trial");
  sweep.seed = whole_member(document, "seed");
  sweep.budget = text_member(document, "budget").substr(0, max_cell_bytes);
  read_keys(document, sweep, notes);
  if (!document.contains("rungs") || !document["rungs"].is_array()) return;
  for (const ordered_json& rung : document["rungs"])
    if (rung.is_number() && std::isfinite(rung.get<double>()) && sweep.rungs.size() < max_rungs)
      sweep.rungs.push_back(rung.get<double>());
}

std::optional<std::int64_t> count_of(std::string_view text) {
  return text.empty() ? std::nullopt : step_of(text);
}

/// The columns before those of the keys, in the order of `member_of`.
const std::vector<std::string>& known_columns() {
  static const std::vector<std::string> names{"member",    "state",   "rung",  "steps", "value",
                                              "best_step", "seconds", "ranks", "cause"};
  return names;
}

std::optional<StoredMember> member_of(CsvRows::Row row) {
  const auto number = step_of(row[0]);
  const auto value = number_or_nothing(row[4]);
  const auto seconds = number_or_nothing(row[6]);
  if (!number || row[1].empty() || row[1].size() > max_cell_bytes || !value || !seconds) return std::nullopt;
  StoredMember member{.number = *number, .state = member_state(row[1]), .state_name = std::string(row[1])};
  for (const std::size_t column : {2U, 3U, 5U, 7U})
    if (!row[column].empty() && !step_of(row[column])) return std::nullopt;
  member.rung = count_of(row[2]);
  member.steps = count_of(row[3]).value_or(0);
  if (std::isfinite(*value)) member.value = *value;
  member.best_step = count_of(row[5]);
  if (std::isfinite(*seconds)) member.seconds = *seconds;
  member.ranks = count_of(row[7]);
  member.cause = std::string(row[8].substr(0, max_cell_bytes));
  for (const std::string_view text : row.subspan(known_columns().size()))
    member.values.emplace_back(text.substr(0, max_cell_bytes));
  return member;
}

void read_members(const std::string& folder, StoredSweep& sweep, ordered_json& notes) {
  std::vector<std::string> columns = known_columns();
  for (const SweepKey& key : sweep.keys) columns.push_back(key.key);
  std::int64_t beyond = 0;
  CsvRows rows(columns, [&](CsvRows::Row row) {
    std::optional<StoredMember> member = member_of(row);
    if (!member) return false;
    if (sweep.members.size() == max_sweep_members)
      ++beyond;
    else
      sweep.members.push_back(std::move(*member));
    return true;
  });
  if (!read_in_pieces(folder + "/sweep.csv", [&](std::string_view piece) { rows.feed(piece); })) {
    notes.push_back("sweep.csv: is missing, or cannot be read: no members are known");
    return;
  }
  if (rows.rows() + rows.damaged() > 0 && !(rows.has(0) && rows.has(1)))
    notes.push_back("sweep.csv: has no columns \"member\" and \"state\": left out");
  else
    note_damaged("sweep.csv", rows.damaged(), "row", notes);
  if (rows.ends_within_row()) notes.push_back("sweep.csv: ends within a row, which was left out");
  if (beyond > 0)
    notes.push_back(fmt::format("sweep.csv: only the first {} of {} members are read", max_sweep_members,
                                max_sweep_members + static_cast<std::size_t>(beyond)));
  std::stable_sort(
      sweep.members.begin(), sweep.members.end(),
      [](const StoredMember& one, const StoredMember& other) { return one.number < other.number; });
}

}  // namespace

bool StoredMember::is_ended() const {
  return state && *state != MemberState::waiting && *state != MemberState::running;
}

bool is_sweep(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failure;
  return fs::is_regular_file(fs::path(folder) / "sweep.json", failure) ||
         fs::is_regular_file(fs::path(folder) / "sweep.csv", failure);
}

StoredSweep read_sweep(const std::string& folder, ordered_json& notes) {
  StoredSweep sweep;
  read_description(folder, sweep, notes);
  read_members(folder, sweep, notes);
  return sweep;
}

std::vector<std::size_t> ranking_of(const StoredSweep& sweep) {
  using enum MemberState;
  std::vector<std::size_t> ranking;
  for (std::size_t i = 0; i < sweep.members.size(); ++i) {
    const StoredMember& member = sweep.members[i];
    const bool has_failed =
        member.state == diverged || member.state == failed || member.state == does_not_fit;
    if (member.value && !has_failed) ranking.push_back(i);
  }
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t one, std::size_t other) {
    return sweep.is_better(*sweep.members[one].value, *sweep.members[other].value);
  });
  return ranking;
}

std::string folder_of_member(const std::string& sweep_folder, std::int64_t number) {
  return sweep_folder + "/" + member_folder(static_cast<std::size_t>(number));
}

}  // namespace mylos::app
