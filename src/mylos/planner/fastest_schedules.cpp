#include "mylos/planner/fastest_schedules.hpp"

#include <algorithm>
#include <utility>

#include "mylos/base/alignment.hpp"

namespace mylos {
namespace {

// Slots that the budget is cut into: more where the chain is short and the table small.
constexpr std::size_t min_slots = 500;
constexpr std::size_t max_slots = 2000;
constexpr std::size_t fewest_slots = 100;  // where memory for the table is short
constexpr std::size_t table_entries = std::size_t{1} << 23;
constexpr std::size_t max_table_entries = std::size_t{1} << 26;  // 256 MiB
// Splits of segments times slots, most of which Rotor skips: some seconds.
constexpr std::size_t max_work = std::size_t{1} << 33;
constexpr std::size_t max_groups = 384;
constexpr std::size_t min_groups = 8;

/// The table is gone before the activations come, so it may take their memory, or a little where they are
/// few.
std::size_t entries_within(std::size_t budget) {
  return std::min(max_table_entries, std::max(table_entries / 4, budget / sizeof(float)));
}

/// Of some sizes from `min` bytes on, the slot by which rounding adds least to what the stages may keep: in
/// chains of equal blocks little or nothing.
std::size_t best_slot_bytes(const std::vector<Stage>& stages, std::size_t min) {
  const std::size_t step = aligned_bytes(min / 512 + 1);
  std::size_t best = min;
  double best_share = 2;  // bytes after rounding per byte
  for (std::size_t slot = min; slot <= min + min / 4; slot += step) {
    double bytes = 0;
    double rounded = 0;
    const auto add = [&](std::size_t kept) {
      bytes += static_cast<double>(kept);
      rounded += static_cast<double>((kept + slot - 1) / slot * slot);
    };
    for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
      add(stages[i].output);
      for (const StageVariant& variant : stages[i].variants) add(variant.kept);
    }
    if (rounded < best_share * bytes) {
      best_share = rounded / bytes;
      best = slot;
    }
  }
  return best;
}

std::size_t slot_bytes_for(const std::vector<Stage>& stages, std::size_t room, std::size_t slots) {
  return best_slot_bytes(stages, std::max(arena_alignment, aligned_bytes((room + slots - 1) / slots)));
}

/// By how many slots Rotor may count more than a schedule needs.
std::size_t slots_of_rounding(const std::vector<Stage>& stages, std::size_t slot) {
  const auto excess = [slot](std::size_t bytes) { return (slot - bytes % slot) % slot; };
  std::size_t bytes = 0;
  for (const Stage& stage : stages) {
    std::size_t most = excess(stage.input);
    for (const StageVariant& variant : stage.variants) most = std::max(most, excess(variant.kept));
    bytes += most;
  }
  return bytes / slot + 1;
}

/// For chains of which all segments together are few enough; 0 for others.
std::size_t slots_of_short_chain(std::size_t stages, std::size_t budget) {
  const std::size_t segments = stages * (stages + 1) / 2;
  const std::size_t most = entries_within(budget) / segments;
  const std::size_t slots =
      std::min(std::clamp(table_entries / segments, min_slots, max_slots), most - std::min(most, stages));
  return slots < fewest_slots ? 0 : slots;
}

struct Resolution {
  std::size_t slot_bytes = 0;
  std::size_t slots = 0;  // 0: not affordable
};

/// The finest that is affordable.
Resolution resolution_of_long_chain(const StageChain& chain, std::size_t room, std::size_t budget) {
  for (std::size_t slots = max_slots; slots >= fewest_slots; slots = slots * 3 / 4) {
    const std::size_t slot = slot_bytes_for(chain.stages, room, slots);
    const std::size_t all = (room + slot - 1) / slot + slots_of_rounding(chain.stages, slot);
    const bool is_affordable =
        all * chain.segments.kinds() <= entries_within(budget) && all * chain.segments.splits() <= max_work;
    if (is_affordable) return {slot, all};
  }
  return {};
}

}  // namespace

FastestSchedules::FastestSchedules(const ChainCost& cost, StageChain chain, std::size_t budget) {
  const std::size_t count = chain.stages.size();
  const std::size_t room = budget - std::min(budget, cost.input_bytes);
  if (const std::size_t slots = slots_of_short_chain(count, budget); slots > 0) {
    const std::size_t slot = slot_bytes_for(chain.stages, room, slots);
    rotor_.emplace(std::move(chain), slot, (room + slot - 1) / slot + count);
    return;
  }
  is_long_ = true;
  const std::vector<Stage> stages = chain.stages;
  if (try_chain(std::move(chain), room, budget)) return;
  for (std::size_t groups = max_groups; groups >= min_groups; groups = groups * 2 / 3) {
    if (groups + 1 >= stages.size()) continue;
    groups_.emplace(stages, groups);
    if (try_chain(StageChain(groups_->stages()), room, budget)) return;
  }
}

bool FastestSchedules::try_chain(StageChain chain, std::size_t room, std::size_t budget) {
  const Resolution resolution = resolution_of_long_chain(chain, room, budget);
  if (resolution.slots > 0) rotor_.emplace(std::move(chain), resolution.slot_bytes, resolution.slots);
  return resolution.slots > 0;
}

std::optional<Schedule> FastestSchedules::schedule(std::size_t number) const {
  std::optional<Schedule> schedule = rotor_->schedule(number);
  if (schedule && groups_) return groups_->expand(*schedule);
  return schedule;
}

}  // namespace mylos
