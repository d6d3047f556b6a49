// RunEvents: the warnings, decisions and rewinds of a run, each with its reason. They are lines of
// `events.jsonl`, and the text /history/events of checkpoints. All ranks have the same events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

struct RunEvent {
  std::uint64_t step = 0;  // the step that it belongs to
  std::string kind;        // "warning", "rewind", "adaptation", "divergence", "early_stop"
  std::string cause;       // a short key: "exploding gradients"
  std::string subject;     // a layer or parameter; "": the run
  std::string text;        // the message

  bool operator==(const RunEvent&) const = default;
};

/// Returns one JSON object and a line feed.
[[nodiscard]] std::string event_line(const RunEvent& event);
/// Reads such lines. Throws Error (bad_input) that names `source` for any other text.
[[nodiscard]] std::vector<RunEvent> read_events(std::string_view lines, const std::string& source);

class RunEvents {
 public:
  /// The maximum number of events; further ones are dropped. Warnings have a smaller limit, so that other
  /// events still fit.
  static constexpr std::size_t max_events = 1000;
  static constexpr std::size_t max_warnings = 900;

  /// Writes events to `path` too. An empty path (all ranks but rank 0) writes no file.
  explicit RunEvents(std::string path) : path_(std::move(path)) {}

  void add(RunEvent event);
  [[nodiscard]] bool has(std::string_view kind, std::string_view cause, std::string_view subject) const;
  /// Returns whether the warning is new and the limit is not reached.
  [[nodiscard]] bool wants(const RunEvent& warning) const {
    return events_.size() < max_warnings && !has(warning.kind, warning.cause, warning.subject);
  }
  [[nodiscard]] const std::vector<RunEvent>& all() const { return events_; }
  /// Removes the file of an earlier run. Called when a run starts from scratch.
  void begin_anew() const;
  /// Rewrites the file if it lacks events. Throws Error if it cannot be written.
  void write();

  /// Adds the events to a checkpoint's state.
  void save(CheckpointState& state) const;
  /// Adds an entry for the events to the state that is read from a checkpoint. Checkpoints of earlier builds
  /// may have none.
  static void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Restores the events from `state`, which was read from `source`, and rewrites the file.
  void restore(const CheckpointState& state, const std::string& source);
  /// Replaces the events after restore(). After a rewind, `events` includes events from after the
  /// checkpoint.
  void replace(std::vector<RunEvent> events);

 private:
  void write_anew();

  std::string path_;
  std::vector<RunEvent> events_;
  bool is_written_ = false;  // the file has all events; a run without events has no file
};

}  // namespace mylos
