// [memory]: how many bytes a rank may take, and how activations are recomputed to stay within them.
#pragma once

#include <cstdint>
#include <vector>

namespace mylos {

/// What the forward pass stores for the backward pass.
enum class RecomputeMode {
  automatic,  // the fastest execution schedule that fits the budget
  none,       // every block stores all of its activations
  all,        // every block stores its input only
  every,      // the input of every k-th block is stored
  groups,     // the groups that the deck gives
};

/// The reaction to a plan that does not fit the budget.
enum class OutOfMemory { refuse, shrink };  // shrink: its micro-batch

/// The times of blocks by which a plan is chosen: measured if a choice depends on them, always measured,
/// or computed from operations and bytes.
enum class TimesSource { automatic, measure, model };

/// Blocks first … last, inclusive, counted from 0, of which only the input of the first is stored.
struct BlockGroup {
  std::int64_t first = 0;  // whose input is stored
  std::int64_t last = 0;   // not before `first`

  bool operator==(const BlockGroup&) const = default;
};

/// [memory]: the budget of a rank, and how a plan stays within it.
struct MemoryOptions {
  std::int64_t budget_bytes = 0;                       // per rank, everything included; 0 = auto
  RecomputeMode recompute = RecomputeMode::automatic;  // what is recomputed
  std::int64_t every = 0;                              // RecomputeMode::every
  std::vector<BlockGroup> groups;                      // RecomputeMode::groups
  TimesSource times = TimesSource::automatic;          // of blocks
  OutOfMemory on_oom = OutOfMemory::refuse;            // if the smallest plan is too large

  bool operator==(const MemoryOptions&) const = default;
};

}  // namespace mylos
