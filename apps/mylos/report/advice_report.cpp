#include <limits>

#include "run_folder.hpp"
#include "run_parts.hpp"

namespace mylos::app {
namespace {

constexpr KnownDocument known_advice{"advice.json", "mylos-advice", 1, std::size_t{4} << 20};
constexpr std::size_t max_trials = 64;
constexpr std::size_t max_reasons = 16;

std::string shown(const ordered_json& document, const char* key) {
  return text_member(document, key).substr(0, max_shown_bytes);
}

/// One setting: its obstacle, or what was measured. A number that was not is null.
ordered_json trial_of(const ordered_json& stored) {
  ordered_json trial = {{"compute", shown(stored, "compute")}, {"recompute", shown(stored, "recompute")}};
  if (const std::string obstacle = shown(stored, "obstacle"); !obstacle.empty()) {
    trial["obstacle"] = obstacle;
    return trial;
  }
  for (const char* key : {"median_step_s", "samples_per_s", "tokens_per_s", "step_joules", "rank_bytes",
                          "activation_bytes", "largest_micro_batch", "loss_gap", "skipped"})
    trial[key] = short_number(number_member(stored, key, std::numeric_limits<double>::quiet_NaN()));
  return trial;
}

}  // namespace

ordered_json advice_of(const std::string& folder, ordered_json& notes) {
  const ordered_json stored = read_object(folder, known_advice, notes);
  if (!stored.is_object()) return nullptr;
  ordered_json document;
  for (const char* key : {"ranks", "batch", "steps", "rounds"}) document[key] = number_member(stored, key, 0);
  document["computed_by"] = shown(stored, "computed_by");
  document["trials"] = ordered_json::array();
  if (stored.contains("trials") && stored["trials"].is_array()) {
    for (const ordered_json& trial : stored["trials"])
      if (document["trials"].size() < max_trials) document["trials"].push_back(trial_of(trial));
  }
  if (!stored.contains("advice")) return document;
  const ordered_json& advice = stored["advice"];
  for (const char* key : {"compute", "recompute", "verdict"}) document[key] = shown(advice, key);
  document["reasons"] = ordered_json::array();
  if (advice.is_object() && advice.contains("reasons") && advice["reasons"].is_array()) {
    for (const ordered_json& reason : advice["reasons"])
      if (reason.is_string() && document["reasons"].size() < max_reasons)
        document["reasons"].push_back(reason.get<std::string>().substr(0, 2 * max_shown_bytes));
  }
  return document;
}

}  // namespace mylos::app
