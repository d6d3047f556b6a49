// Amendments: what a run changed of its own deck, each with its reason: after a divergence
// (health.on_divergence = "rewind"), or to fit the numbers that it sees (precision.adapt).
//
// The options of a run are its deck's with all of them applied, in their order. They are in every checkpoint
// (/history/amendments), so that a restart with the user's deck goes on with them; /deck there is the deck as
// amended. A learning rate that the user changes at a restart is multiplied by their factors too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/config/options.hpp"
#include "mylos/train/history/run_events.hpp"

namespace mylos {

struct Amendment {
  RunEvent decision;        // of kind "rewind" or "adaptation": when, why, and what was changed, for people
  std::uint64_t from = 0;   // behind this step the run goes on so; 0: from the beginning
  double lr_factor = 1;     // of optimizer.lr and schedule.final_lr
  double scale_factor = 1;  // of the loss scale that the state has at `from`, once
  std::string float_layer = {};                      // computes in fp32; "": none
  std::optional<DType> compute = {};                 // precision.compute; rules stay
  std::optional<std::int64_t> growth_interval = {};  // steps
  std::optional<double> growth_factor = {};

  bool operator==(const Amendment&) const = default;
};

using Amendments = std::vector<Amendment>;

/// More are not made, and not read.
inline constexpr std::size_t max_amendments = 1000;

/// The options of a run with this deck.
[[nodiscard]] Options amended(Options deck, const Amendments& amendments);
/// The resolved deck with them: TOML.
[[nodiscard]] std::string amended_deck(const std::string& resolved, const Amendments& amendments);

/// What it makes of the run with these options, by their keys, for people; "": nothing.
[[nodiscard]] std::string describe_changes(const Amendment& amendment, const Options& before);

/// One JSON object and a line feed: the decision's members, and those changes that were made.
[[nodiscard]] std::string amendment_line(const Amendment& amendment);
/// Of such lines. Throws Error (bad_input) that names `source` for anything else, and for values that no run
/// chooses.
[[nodiscard]] Amendments read_amendments(std::string_view lines, const std::string& source);

/// Those of a checkpoint; none where it has none. Throws Error (bad_input) for what no run wrote.
[[nodiscard]] Amendments read_amendments(const CheckpointReader& saved);
/// Adds them to what a checkpoint is to hold.
void save_amendments(const Amendments& amendments, CheckpointState& state);
/// Adds room for those of a checkpoint, which read_amendments() gives.
void make_room_for_amendments(const CheckpointReader& saved, CheckpointState& state);

}  // namespace mylos
