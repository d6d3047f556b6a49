#include "sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "deck_lines.hpp"
#include "mylos/sweep/run/evaluation_values.hpp"
#include "run_folder.hpp"
#include "step_curves.hpp"
#include "sweep_folder.hpp"
#include "sweep_importance.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_curves = 128;           // more lines hide each other
constexpr std::size_t max_curve_points = 12'800;  // of all curves together
constexpr std::size_t max_points_of_curve = 400;
constexpr std::size_t best_members = 5;  // whose decks are compared
constexpr std::size_t max_member_deck_bytes = std::size_t{1} << 20;
constexpr std::size_t max_differences = 200;

/// The last rung is the end of a run.
bool has_halving(const StoredSweep& sweep) {
  return sweep.rungs.size() > 1;
}

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? short_number(*value) : ordered_json();
}

ordered_json number_or_null(const std::optional<std::int64_t>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

RunProgressReport progress_of_sweep(const std::string& folder, const StoredSweep& sweep) {
  using enum RunProgress;
  std::string worker = worker_in(folder);
  std::int64_t ended = 0;
  for (const StoredMember& member : sweep.members) {
    ended += member.is_ended() ? 1 : 0;
    if (worker.empty() && member.state == MemberState::running)
      worker = worker_in(folder_of_member(folder, member.number));
  }
  if (!worker.empty()) return {running, fmt::format("{} works on it", worker)};
  const auto known = static_cast<std::int64_t>(sweep.members.size());
  if (known > 0 && ended == known && known >= sweep.trials) return {done, "every member has ended"};
  return {unfinished, "no process works on it: the same command continues it"};
}

ordered_json key_json(const SweepKey& key, const DeckLines& deck) {
  ordered_json document{{"key", key.key}, {"kind", key.is_range() ? "range" : "list"}};
  if (key.is_range()) {
    document["low"] = short_number(key.low);
    document["high"] = short_number(key.high);
    document["scale"] = key.is_logarithmic ? "log" : "linear";
    document["integer"] = key.is_integer;
  } else {
    document["values"] = key.values;
  }
  document["base"] = deck.value(key.key);
  return document;
}

ordered_json member_json(const StoredMember& member) {
  return {{"member", member.number},
          {"state", member.state_name},
          {"rung", number_or_null(member.rung)},
          {"steps", member.steps},
          {"value", number_or_null(member.value)},
          {"best_step", number_or_null(member.best_step)},
          {"seconds", number_or_null(member.seconds)},
          {"ranks", number_or_null(member.ranks)},
          {"cause", member.cause},
          {"values", member.values}};
}

/// The ranked members, then the others.
std::vector<std::size_t> all_members(const StoredSweep& sweep, const std::vector<std::size_t>& ranking) {
  std::vector<std::size_t> members = ranking;
  for (std::size_t i = 0; i < sweep.members.size(); ++i)
    if (std::find(ranking.begin(), ranking.end(), i) == ranking.end()) members.push_back(i);
  return members;
}

/// The curves of the first members, and the values of all members at the first rung.
struct MeasuredCurves {
  ordered_json curves = ordered_json::array();
  std::map<std::size_t, double> at_first_rung;
};

MeasuredCurves read_curves(const std::string& folder, const StoredSweep& sweep,
                           const std::vector<std::size_t>& ranking, ordered_json& notes) {
  const std::vector<std::size_t> members = all_members(sweep, ranking);
  const std::size_t drawn = std::min(members.size(), max_curves);
  const std::size_t points =
      std::min(max_points_of_curve, max_curve_points / std::max<std::size_t>(1, drawn));
  const double first_rung = has_halving(sweep) ? sweep.rungs.front() : 0;
  MeasuredCurves measured;
  std::int64_t damaged = 0;
  const auto read = [&](std::size_t member) {
    const std::string of = folder_of_member(folder, sweep.members[member].number);
    StepCurves curve(1, points);
    damaged += read_evaluations(of + "/evaluations.csv", sweep.metric, [&](const EvaluatedValue& one) {
      curve.add(one.step, std::array{one.value});
      const double spent = sweep.budget == "time" ? one.elapsed_s : static_cast<double>(one.step);
      if (spent <= first_rung && std::isfinite(one.value)) measured.at_first_rung[member] = one.value;
    });
    return curve;
  };
  for (std::size_t i = 0; i < (has_halving(sweep) ? members.size() : drawn); ++i) {
    ordered_json document = json_of(read(members[i]), {"value"});
    if (i >= drawn || !document.contains("value")) continue;
    document["index"] = members[i];
    measured.curves.push_back(std::move(document));
  }
  note_damaged("evaluations.csv of members", damaged, "row", notes);
  return measured;
}

ordered_json groups_json(const KeyImportance& importance, const SweepKey& key) {
  ordered_json groups = ordered_json::array();
  for (const KeyGroup& key_group : importance.groups) {
    ordered_json one;
    if (key.is_range()) {
      one["low"] = short_number(key_group.low);
      one["high"] = short_number(key_group.high);
    } else {
      one["value"] = key_group.value;
    }
    one["members"] = key_group.members;
    one["median"] = short_number(key_group.median);  // null: diverged
    one["best"] = short_number(key_group.best);
    one["mean_rank"] = short_number(key_group.mean_rank);
    groups.push_back(std::move(one));
  }
  return groups;
}

/// The members' values that are compared. Those of halving have been trained for different numbers of steps,
/// but all up to the first rung.
ordered_json importance_json(const StoredSweep& sweep, const MeasuredCurves& measured) {
  const bool at_rung = has_halving(sweep) && !measured.at_first_rung.empty();
  const double worst = std::numeric_limits<double>::infinity() * (sweep.higher_is_better ? -1 : 1);
  std::vector<std::optional<double>> values(sweep.members.size());
  std::size_t members = 0;
  std::size_t diverged = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const StoredMember& member = sweep.members[i];
    const bool has_ended = member.is_ended() || at_rung;
    if (member.state == MemberState::diverged) {
      values[i] = worst;
      ++diverged;
    } else if (at_rung && measured.at_first_rung.contains(i)) {
      values[i] = measured.at_first_rung.at(i);
    } else if (!at_rung && has_ended && member.state != MemberState::failed) {
      values[i] = member.value;
    }
    members += values[i] ? 1 : 0;
  }
  ordered_json keys = ordered_json::array();
  const std::vector<KeyImportance> importance = importance_of(sweep, values);
  for (std::size_t key = 0; key < importance.size(); ++key) {
    keys.push_back({{"key", sweep.keys[key].key},
                    {"share", number_or_null(importance[key].share)},
                    {"chance", short_number(importance[key].chance)},
                    {"groups", groups_json(importance[key], sweep.keys[key])}});
  }
  return {
      {"at_first_rung", at_rung}, {"members", members}, {"diverged", diverged}, {"keys", std::move(keys)}};
}

/// The keys of a member's deck that differ from the base deck, except its folder.
ordered_json differences_of(const std::string& folder, const DeckLines& base) {
  const SmallFile file = read_small_file(folder + "/resolved.toml", max_member_deck_bytes);
  if (file.text.empty()) return nullptr;
  const DeckLines own(file.text);
  const auto find = [](const DeckLines& deck, const std::string& key) {
    const std::string* value = deck.find(key);
    return value ? ordered_json(*value) : ordered_json();
  };
  ordered_json differences = ordered_json::array();
  const auto add = [&](const std::string& key) {
    const ordered_json before = find(base, key);
    const ordered_json after = find(own, key);
    if (before != after && key != "run.folder" && differences.size() < max_differences)
      differences.push_back({key, before, after});
  };
  for (const auto& entry : own.keys()) add(entry.first);
  for (const auto& entry : base.keys())
    if (find(own, entry.first).is_null()) add(entry.first);
  return differences;
}

}  // namespace

Report report_of_sweep(const std::string& folder) {
  ordered_json notes = ordered_json::array();
  const StoredSweep sweep = read_sweep(folder, notes);
  const std::vector<std::size_t> ranking = ranking_of(sweep);
  const DeckLines base(sweep.deck);
  const RunProgressReport progress = progress_of_sweep(folder, sweep);
  Report report{.document = {{"label", sweep.name.empty() ? last_name(folder) : sweep.name},
                             {"folder", folder},
                             {"progress", name_of(progress.progress)},
                             {"progress_text", progress.text},
                             {"metric", sweep.metric},
                             {"better", sweep.higher_is_better ? "higher" : "lower"},
                             {"strategy", sweep.strategy},
                             {"trials", sweep.trials},
                             {"ranks_per_trial", sweep.ranks_per_trial},
                             {"seed", sweep.seed},
                             {"budget", sweep.budget}},
                .progress = progress.progress};
  ordered_json& document = report.document;
  document["rungs"] = ordered_json::array();
  for (const double rung : sweep.rungs) document["rungs"].push_back(short_number(rung));
  document["keys"] = ordered_json::array();
  for (const SweepKey& key : sweep.keys) document["keys"].push_back(key_json(key, base));
  document["counts"] = ordered_json::object();
  document["members"] = ordered_json::array();
  for (const StoredMember& member : sweep.members) {
    ordered_json& count = document["counts"][member.state_name];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    document["members"].push_back(member_json(member));
  }
  document["ranking"] = ranking;
  MeasuredCurves measured = read_curves(folder, sweep, ranking, notes);
  document["importance"] = importance_json(sweep, measured);
  document["curves"] = std::move(measured.curves);
  document["best"] = ordered_json::array();
  for (std::size_t i = 0; i < std::min(best_members, ranking.size()); ++i) {
    const std::int64_t number = sweep.members[ranking[i]].number;
    document["best"].push_back(
        {{"index", ranking[i]}, {"differences", differences_of(folder_of_member(folder, number), base)}});
  }
  document["notes"] = std::move(notes);
  return report;
}

}  // namespace mylos::app
