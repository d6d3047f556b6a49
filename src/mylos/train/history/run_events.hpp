// RunEvents: what a run warned of, decided or took back, each with its reason: lines of `events.jsonl`, and
// the text /history/events of checkpoints. All ranks have the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

struct RunEvent {
  std::uint64_t step = 0;  // to which it belongs
  std::string kind;        // "warning", "rewind", "adaptation", "divergence", "early_stop"
  std::string cause;       // a short key: "exploding gradients"
  std::string subject;     // a layer or parameter; "": the run
  std::string text;        // for people

  bool operator==(const RunEvent&) const = default;
};

/// One JSON object and a line feed.
[[nodiscard]] std::string event_line(const RunEvent& event);
/// Of such lines. Throws Error (bad_input) that names `source` for anything else.
[[nodiscard]] std::vector<RunEvent> read_events(std::string_view lines, const std::string& source);

class RunEvents {
 public:
  /// More are not kept: a run that has so many says nothing new. The last ones are for what is no warning.
  static constexpr std::size_t max_events = 1000;
  static constexpr std::size_t max_warnings = 900;

  /// Events go to `path` too; an empty path writes no file (ranks but the first).
  explicit RunEvents(std::string path) : path_(std::move(path)) {}

  void add(RunEvent event);
  [[nodiscard]] bool has(std::string_view kind, std::string_view cause, std::string_view subject) const;
  /// Whether a warning is new, and there is room for it.
  [[nodiscard]] bool wants(const RunEvent& warning) const {
    return events_.size() < max_warnings && !has(warning.kind, warning.cause, warning.subject);
  }
  [[nodiscard]] const std::vector<RunEvent>& all() const { return events_; }
  /// Of a run that starts afresh: removes the file of an earlier one.
  void begin_anew() const;
  /// Brings the file up to date. Throws Error where it cannot be written.
  void write();

  /// Adds them to what a checkpoint is to hold.
  void save(CheckpointState& state) const;
  /// Adds what save() wrote to what is read from a checkpoint; builds that knew no events wrote nothing.
  static void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// With those of `state`, which was read: the file is written anew.
  void restore(const CheckpointState& state, const std::string& source);
  /// After that, of a run that has gone back: with these, which lie behind the checkpoint too.
  void replace(std::vector<RunEvent> events);

 private:
  void write_anew();

  std::string path_;
  std::vector<RunEvent> events_;
  bool is_written_ = false;  // the file has them all; a run without events has no file
};

}  // namespace mylos
