#include "run_parts.hpp"

#include <fmt/format.h>

#include <deque>

#include "mylos/io/files/file_pieces.hpp"
#include "mylos/io/tables/bounded_lines.hpp"
#include "mylos/io/tables/csv_rows.hpp"
#include "run_folder.hpp"

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

struct Events {
  ordered_json rows = ordered_json::array();
  ordered_json kinds = ordered_json::object();
  std::int64_t total = 0;
  bool exist = false;  // one of the files does
};

void count_kind(const std::string& kind, Events& events) {
  ++events.total;
  if (events.kinds.contains(kind)) {
    events.kinds[kind] = events.kinds[kind].get<std::int64_t>() + 1;
  } else if (events.kinds.size() < max_kinds) {
    events.kinds[kind] = 1;
  }
}

/// Adds the first and the last events of a file.
void read_events(const std::string& folder, const char* name, bool runs_on, Events& events,
                 ordered_json& notes) {
  std::int64_t damaged = 0;
  std::size_t first = 0;
  std::deque<ordered_json> last;
  BoundedLines lines(max_event_bytes, [&](std::string_view line) {
    if (line.empty()) return;
    ordered_json event = event_of(line);
    if (event.is_null()) {
      ++damaged;
      return;
    }
    count_kind(event["kind"].get<std::string>(), events);
    if (first < max_first) {
      events.rows.push_back(std::move(event));
      ++first;
    } else {
      last.push_back(std::move(event));
      if (last.size() > max_last) last.pop_front();
    }
  });
  if (!read_in_pieces(folder + "/" + name, [&](std::string_view piece) { lines.feed(piece); })) return;
  events.exist = true;
  damaged += lines.too_long();
  note_damaged(name, damaged, "line", notes);
  if (lines.ends_within_line() && !runs_on)
    notes.push_back(fmt::format("{}: ends within a line, which was left out", name));
  for (ordered_json& event : last) events.rows.push_back(std::move(event));
}

}  // namespace

ordered_json events_of(const std::string& folder, bool runs_on, ordered_json& notes) {
  Events events;
  read_events(folder, "starts.jsonl", runs_on, events, notes);
  read_events(folder, "events.jsonl", runs_on, events, notes);  // the run's last event is the last row
  if (!events.exist) return nullptr;
  return {{"total", events.total}, {"kinds", std::move(events.kinds)}, {"rows", std::move(events.rows)}};
}

}  // namespace mylos::app
