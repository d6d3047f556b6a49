#include "mylos/train/history/run_events.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

constexpr const char* stored_path = "/history/events";

std::string lines_of(const std::vector<RunEvent>& events) {
  std::string lines;
  for (const RunEvent& event : events) lines += event_line(event);
  return lines;
}

RunEvent read_event(std::string_view line, const std::string& source) {
  try {
    const auto object = nlohmann::json::parse(line);
    return {.step = object.at("step").get<std::uint64_t>(),
            .kind = object.at("kind").get<std::string>(),
            .cause = object.at("cause").get<std::string>(),
            .subject = object.at("subject").get<std::string>(),
            .text = object.at("text").get<std::string>()};
  } catch (const nlohmann::json::exception& error) {
    fail_input(errors::damaged, "{}: is not a list of a run's events: {}", source, error.what());
  }
}

}  // namespace

std::string event_line(const RunEvent& event) {
  const nlohmann::ordered_json object = {{"step", event.step},
                                         {"kind", event.kind},
                                         {"cause", event.cause},
                                         {"subject", event.subject},
                                         {"text", event.text}};
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::vector<RunEvent> read_events(std::string_view lines, const std::string& source) {
  std::vector<RunEvent> events;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (events.size() == RunEvents::max_events)
      fail_input(errors::damaged, "{}: has more than {} events", source, RunEvents::max_events);
    events.push_back(read_event(lines.substr(0, end), source));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return events;
}

void RunEvents::add(RunEvent event) {
  if (events_.size() == max_events) return;
  events_.push_back(std::move(event));
  is_written_ = false;
}

bool RunEvents::has(std::string_view kind, std::string_view cause, std::string_view subject) const {
  return std::any_of(events_.begin(), events_.end(), [&](const RunEvent& event) {
    return event.kind == kind && event.cause == cause && event.subject == subject;
  });
}

void RunEvents::write() {
  if (path_.empty() || is_written_ || events_.empty()) return;
  publish_text(path_, lines_of(events_));
  is_written_ = true;
}

void RunEvents::begin_anew() const {
  std::error_code failure;
  std::filesystem::remove(path_, failure);
}

void RunEvents::save(CheckpointState& state) const {
  if (!events_.empty()) state.add_text(stored_path, lines_of(events_));
}

void RunEvents::make_room(const CheckpointReader& saved, CheckpointState& state) {
  if (saved.exists(stored_path)) state.add_text(stored_path, "");
}

void RunEvents::restore(const CheckpointState& state, const std::string& source) {
  events_.clear();
  for (const StateText& text : state.texts) {
    if (text.path == stored_path) events_ = read_events(text.text, source + ": " + stored_path);
  }
  write_anew();
}

void RunEvents::replace(std::vector<RunEvent> events) {
  events_ = std::move(events);
  write_anew();
}

/// Rewrites the file, which may contain events from after the checkpoint.
void RunEvents::write_anew() {
  is_written_ = false;
  if (path_.empty()) return;
  begin_anew();
  write();
}

}  // namespace mylos
