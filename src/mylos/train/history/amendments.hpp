// Amendments: changes that a run makes to its own deck, each with its reason. A run amends its deck after a
// divergence (health.on_divergence = "rewind"), or to adapt to the values that it observes
// (precision.adapt).
//
// The options of a run are those of its deck with all amendments applied in order. Every checkpoint stores
// the amendments (/history/amendments), so that a restart with the user's deck applies them too; /deck in
// the checkpoint is the amended deck. If the user changes the learning rate at a restart, the factors of the
// amendments multiply the new rate.
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
  RunEvent decision;        // of kind "rewind" or "adaptation": when, why, and a description of the change
  std::uint64_t from = 0;   // the change applies after this step; 0: from the beginning
  double lr_factor = 1;     // multiplies optimizer.lr and schedule.final_lr
  double scale_factor = 1;  // multiplies the loss scale of the state at `from`, once
  std::string float_layer = {};                      // the layer that computes in fp32; "": none
  std::optional<DType> compute = {};                 // precision.compute; rules are unchanged
  std::optional<std::int64_t> growth_interval = {};  // steps
  std::optional<double> growth_factor = {};

  bool operator==(const Amendment&) const = default;
};

using Amendments = std::vector<Amendment>;

/// The maximum number of amendments of a run. Longer lists are refused when read.
inline constexpr std::size_t max_amendments = 1000;

/// Returns the deck's options with the amendments applied.
[[nodiscard]] Options amended(Options deck, const Amendments& amendments);
/// Returns the resolved deck with the amendments applied, as TOML.
[[nodiscard]] std::string amended_deck(const std::string& resolved, const Amendments& amendments);

/// Describes the changes to a run with the options `before`, with the deck's keys; "" if nothing changes.
[[nodiscard]] std::string describe_changes(const Amendment& amendment, const Options& before);

/// Returns one JSON object and a line feed: the decision's members, and the changes that were made.
[[nodiscard]] std::string amendment_line(const Amendment& amendment);
/// Reads such lines. Throws Error (bad_input) that names `source` for any other text, and for values that no
/// run chooses.
[[nodiscard]] Amendments read_amendments(std::string_view lines, const std::string& source);

/// Reads a checkpoint's amendments; returns an empty list if it has none. Throws Error (bad_input) for
/// contents that no run writes.
[[nodiscard]] Amendments read_amendments(const CheckpointReader& saved);
/// Adds the amendments to a checkpoint's state.
void save_amendments(const Amendments& amendments, CheckpointState& state);
/// Adds an entry for a checkpoint's amendments to the state that is read from it. read_amendments() returns
/// them.
void make_room_for_amendments(const CheckpointReader& saved, CheckpointState& state);

}  // namespace mylos
