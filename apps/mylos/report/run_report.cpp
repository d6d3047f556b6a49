#include "run_report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "deck_lines.hpp"
#include "run_folder.hpp"
#include "run_parts.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_deck_bytes = std::size_t{1} << 20;

struct DeckFile {
  SmallFile file;
  DeckLines lines{""};
};

DeckFile read_deck_of(const std::string& folder, ordered_json& notes) {
  DeckFile deck{.file = read_small_file(folder + "/resolved.toml", max_deck_bytes)};
  deck.lines = DeckLines(deck.file.text);
  if (!deck.file.problem.empty()) notes.push_back("resolved.toml: " + deck.file.problem + ": left out");
  return deck;
}

/// The deck with the run's amendments.
std::string deck_in_effect(const std::string& folder, const std::string& given, ordered_json& notes) {
  if (!std::filesystem::exists(folder + "/amended.toml")) return given;
  const SmallFile amended = read_small_file(folder + "/amended.toml", max_deck_bytes);
  if (!amended.problem.empty()) notes.push_back("amended.toml: " + amended.problem + ": left out");
  return amended.problem.empty() ? amended.text : given;
}

/// The steps of the complete run, from the summary, from the deck, or from the epochs at its last step.
/// 0: unknown.
double steps_of_run(const ordered_json& summary, const DeckLines& deck, const ordered_json& history) {
  if (const double steps = number_member(summary, "steps_of_run", 0); steps > 0) return steps;
  if (const double steps = deck.number("run.steps"); steps > 0) return steps;
  const double epoch = number_member(history, "epoch", 0);
  const double step = number_member(history, "step", 0);
  return epoch > 0 ? std::round(deck.number("run.epochs") * step / epoch) : 0;
}

std::string name_of_run(const std::string& folder, const ordered_json& summary, const DeckLines& deck) {
  if (std::string name = deck.value("run.name"); !name.empty()) return name;
  if (std::string name = text_member(summary, "run"); !name.empty()) return name;
  return last_name(folder);
}

ordered_json keys_of(const DeckLines& deck) {
  ordered_json keys = ordered_json::array();
  for (const auto& [key, value] : deck.keys()) keys.push_back({key, value});
  return keys;
}

}  // namespace

ReportBounds bounds_for(std::size_t runs) {
  const ReportBounds one;
  return {std::max<std::size_t>(300, one.points / runs), std::max<std::size_t>(4000, one.cells / runs)};
}

Report report_of(const std::string& folder, const ReportBounds& bounds) {
  ordered_json notes = ordered_json::array();
  const ordered_json summary = summary_of(folder, notes);
  const DeckFile deck = read_deck_of(folder, notes);
  RunProgressReport progress = progress_of(folder, text_member(summary, "outcome"));
  const bool runs_on = progress.progress == RunProgress::running;
  ordered_json events = events_of(folder, runs_on, notes);
  progress = with_end_event(std::move(progress), events);
  Report report;
  report.progress = progress.progress;
  ordered_json& document = report.document;
  document = {{"name", name_of_run(folder, summary, deck.lines)},
              {"folder", folder},
              {"progress", name_of(progress.progress)},
              {"progress_text", progress.text}};
  document["history"] = history_of(folder, deck.lines, runs_on, bounds.points, notes);
  document["steps_of_run"] = steps_of_run(summary, deck.lines, document["history"]);
  document["evaluations"] = evaluations_of(folder, runs_on, bounds.points, notes);
  document["confusion"] = confusion_of(folder, notes);
  document["targets"] = targets_of(folder, notes);
  document["uncertainty"] = uncertainty_of(folder, notes);
  document["samples"] = samples_of(folder, notes);
  document["rollouts"] = rollouts_of(folder, notes);
  document["health"] = health_of(folder, runs_on, bounds.cells, notes);
  document["events"] = std::move(events);
  document["plan"] = plan_of(folder, notes);
  document["advice"] = advice_of(folder, notes);
  document["summary"] = summary;
  const std::string in_effect = deck_in_effect(folder, deck.file.text, notes);
  document["layers"] = in_effect.empty() ? ordered_json() : layers_of(in_effect, notes);
  document["deck"] = keys_of(deck.lines);
  document["notes"] = std::move(notes);
  return report;
}

}  // namespace mylos::app
