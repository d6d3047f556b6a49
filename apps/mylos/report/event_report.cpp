#include "run_parts.hpp"

#include <fmt/format.h>

#include <deque>

#include "bounded_lines.hpp"
#include "run_folder.hpp"
#include "step_curves.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_event_bytes = std::size_t{16} << 10;
constexpr std::size_t max_first = 200;
constexpr std::size_t max_last = 200;
constexpr std::size_t max_kinds = 32;
constexpr std::size_t max_text_bytes = 1000;

std::string short_text(const ordered_json& event, const char* key) {
  return text_member(event, key).substr(0, max_text_bytes);
}

/// Null if the line is not an event.
ordered_json event_of(std::string_view line) {
  const ordered_json event = ordered_json::parse(line, nullptr, false);
  const double step = number_member(event, "step", -1);
  if (step < 0 || step > static_cast<double>(max_step)) return nullptr;
  ordered_json row = {{"step", static_cast<std::int64_t>(step)}};
  for (const char* key : {"kind", "cause", "subject", "text"}) row[key] = short_text(event, key);
  return row;
}

}  // namespace

ordered_json events_of(const std::string& folder, bool runs_on, ordered_json& notes) {
  ordered_json rows = ordered_json::array();
  std::deque<ordered_json> last;
  ordered_json kinds = ordered_json::object();
  std::int64_t total = 0;
  std::int64_t damaged = 0;
  BoundedLines lines(max_event_bytes, [&](std::string_view line) {
    if (line.empty()) return;
    ordered_json event = event_of(line);
    if (event.is_null()) {
      ++damaged;
      return;
    }
    ++total;
    const auto kind = event["kind"].get<std::string>();
    if (kinds.contains(kind)) {
      kinds[kind] = kinds[kind].get<std::int64_t>() + 1;
    } else if (kinds.size() < max_kinds) {
      kinds[kind] = 1;
    }
    if (rows.size() < max_first) {
      rows.push_back(std::move(event));
    } else {
      last.push_back(std::move(event));
      if (last.size() > max_last) last.pop_front();
    }
  });
  if (!read_in_pieces(folder + "/events.jsonl", [&](std::string_view piece) { lines.feed(piece); }))
    return nullptr;
  damaged += lines.too_long();
  if (damaged > 0)
    notes.push_back(
        fmt::format("events.jsonl: {} damaged line{} left out", damaged, damaged == 1 ? "" : "s"));
  if (lines.ends_within_line() && !runs_on)
    notes.push_back("events.jsonl: ends within a line, which was left out");
  for (ordered_json& event : last) rows.push_back(std::move(event));
  return {{"total", total}, {"kinds", std::move(kinds)}, {"rows", std::move(rows)}};
}

}  // namespace mylos::app
