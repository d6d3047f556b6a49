#include "mylos/train/plan/recompute_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_tabled_blocks = 1000;  // beyond, each row of the table takes seconds
constexpr double little_saved = 0.1;
constexpr double much_time = 0.1;

struct Setting {
  std::string name;  // as in a deck
  std::size_t bytes = 0;
  double overhead = 0;
};

Setting setting_of(const MemoryPlan& plan, const std::string& name, RecomputeMode mode,
                   std::int64_t blocks_of_group = 0) {
  MemoryOptions options;
  options.recompute = mode;
  options.every = blocks_of_group;
  MemoryPlan other = plan;
  other.plan = *make_plan(plan.statement.cost, std::numeric_limits<std::size_t>::max(), options);
  return {name, other.plan.placement.bytes, other.overhead()};
}

Setting every(const MemoryPlan& plan, std::int64_t blocks) {
  return setting_of(plan, fmt::format("\"every {}\"", blocks), RecomputeMode::every, blocks);
}

Setting storing_all(const MemoryPlan& plan) {
  return setting_of(plan, "\"none\"", RecomputeMode::none);
}

/// The lengths of groups in the table: those that usually save most, near the root of the number of blocks,
/// and some beside.
std::vector<std::int64_t> lengths_for(std::size_t blocks) {
  const auto root = std::llround(std::sqrt(static_cast<double>(blocks)));
  std::vector<std::int64_t> lengths{2, 4, 10, root};
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::erase_if(lengths, [blocks](std::int64_t length) {
    return length < 2 || static_cast<std::size_t>(length) >= blocks;
  });
  return lengths;
}

double saved_by(const Setting& setting, const Setting& all) {
  return 1 - static_cast<double>(setting.bytes) / static_cast<double>(std::max<std::size_t>(1, all.bytes));
}

std::string in_units(std::size_t bytes) {
  return format_bytes(static_cast<std::int64_t>(bytes));
}

}  // namespace

std::string recompute_table(const MemoryPlan& plan) {
  const std::size_t blocks = plan.statement.cost.blocks.size();
  if (blocks > max_tabled_blocks) return "";
  const Setting all = storing_all(plan);
  std::vector<Setting> rows{all};
  for (const std::int64_t length : lengths_for(blocks)) rows.push_back(every(plan, length));
  rows.push_back(setting_of(plan, "\"all\"", RecomputeMode::all));
  std::string text =
      fmt::format("  {:<20}{:>14}{:>12}{:>14}\n", "memory.recompute", "activations", "saved", "longer step");
  for (const Setting& row : rows) {
    text += fmt::format("  {:<20}{:>14}{:>10.0f} %{:>12.1f} %\n", row.name, in_units(row.bytes),
                        100 * saved_by(row, all), 100 * row.overhead);
  }
  return text;
}

std::string note_on_recompute(const MemoryPlan& plan, const MemoryOptions& options) {
  if (options.recompute == RecomputeMode::automatic || options.recompute == RecomputeMode::none) return "";
  const Setting all = storing_all(plan);
  const Setting own{"", plan.plan.placement.bytes, plan.overhead()};
  if (saved_by(own, all) >= little_saved || own.overhead <= much_time) return "";
  Setting best = own;
  for (const std::int64_t length : lengths_for(plan.statement.cost.blocks.size())) {
    Setting other = every(plan, length);
    if (other.bytes < best.bytes) best = std::move(other);
  }
  return fmt::format(
      "warning: memory.recompute: recomputation lengthens a step by {:.0f} % and saves {} of {} of "
      "activations "
      "({:.0f} %); {}",
      100 * own.overhead, in_units(all.bytes - std::min(all.bytes, own.bytes)), in_units(all.bytes),
      100 * saved_by(own, all),
      saved_by(best, all) >= little_saved
          ? fmt::format("{} saves {:.0f} % for {:.0f} % of the time", best.name, 100 * saved_by(best, all),
                        100 * best.overhead)
          : std::string("\"none\" is faster, and \"auto\" recomputes only if the budget requires it"));
}

}  // namespace mylos
