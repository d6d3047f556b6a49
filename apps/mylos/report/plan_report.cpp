#include "run_parts.hpp"

#include <algorithm>

#include "run_folder.hpp"

namespace mylos::app {
namespace {

// These limits bound the memory of reading.
constexpr std::size_t max_plan_bytes = std::size_t{4} << 20;
constexpr std::size_t max_summary_bytes = std::size_t{64} << 10;
constexpr std::size_t max_memory_parts = 64;

constexpr KnownDocument known_plan{"plan.json", "mylos-plan", 1, max_plan_bytes};
constexpr KnownDocument known_summary{"summary.json", "mylos-summary", 1, max_summary_bytes};

void add_part(ordered_json& parts, const std::string& name, double bytes) {
  if (bytes > 0 && parts.size() < max_memory_parts)
    parts.push_back({{"name", name.substr(0, max_shown_bytes)}, {"bytes", bytes}});
}

/// The operations that a plan executes more than once.
std::int64_t repeated_forwards(const ordered_json& plan) {
  if (!plan.contains("operations") || !plan["operations"].is_array()) return 0;
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  for (const ordered_json& operation : plan["operations"]) {
    const std::string what = text_member(operation, "run");
    forwards += what == "forward" ? 1 : 0;
    backwards += what == "backward" ? 1 : 0;
  }
  return std::max<std::int64_t>(0, forwards - backwards);
}

}  // namespace

ordered_json plan_of(const std::string& folder, ordered_json& notes) {
  const ordered_json plan = read_object(folder, known_plan, notes);
  if (!plan.is_object()) return nullptr;
  ordered_json document;
  for (const char* key :
       {"ranks", "parameters", "budget_bytes", "rank_bytes", "checkpoint_bytes", "overhead"})
    if (plan.contains(key)) document[key] = number_member(plan, key, 0);
  ordered_json parts = ordered_json::array();
  add_part(parts, "activations", number_member(plan, "activation_bytes", 0));
  if (plan.contains("memory") && plan["memory"].is_array())
    for (const ordered_json& entry : plan["memory"])
      add_part(parts, text_member(entry, "name"), number_member(entry, "bytes", 0));
  add_part(parts, "copy for checkpoints", number_member(plan, "checkpoint_copy_bytes", 0));
  document["parts"] = std::move(parts);
  document["repeated_forwards"] = repeated_forwards(plan);
  return document;
}

ordered_json summary_of(const std::string& folder, ordered_json& notes) {
  ordered_json summary = read_object(folder, known_summary, notes);
  return summary.is_object() ? summary : ordered_json::object();
}

}  // namespace mylos::app
