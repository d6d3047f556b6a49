#include "mylos/data/arrays/files/level_cache.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/system/memory_shares.hpp"

namespace mylos {
namespace {

/// One call of HDF5 takes some 20 us: a slab is at least this large, if the trajectory is.
constexpr std::int64_t min_slab_bytes = std::int64_t{256} << 10;
/// Chunks that span more levels than this are decoded several times.
constexpr std::int64_t max_slab_bytes = std::int64_t{64} << 20;
/// Slots are searched one by one.
constexpr std::int64_t max_slots_of_block = 256;
/// Most bytes of a block of shuffle = "blocks": the loader holds 128 of them.
constexpr std::int64_t max_block_sample_bytes = std::int64_t{8} << 20;
constexpr std::int64_t usual_block_sample_bytes = std::int64_t{1} << 20;

}  // namespace

std::vector<SlabPlan> plan_slabs(const SampleLayout& layout, const ArrayOptions& options,
                                 const std::vector<OpenArray>& first_file) {
  std::vector<SlabPlan> plans;
  for (std::size_t i = 0; i < first_file.size(); ++i) {
    const OpenArray& array = first_file[i];
    const StoredExtents& extents = array.extents();
    SlabPlan plan{.level_elements = extents.points() * extents.channels};
    const bool is_target =
        std::find(options.targets.begin(), options.targets.end(), layout.arrays[i]) != options.targets.end();
    plan.wide = is_target && options.is_difference(layout.arrays[i]) && !layout.exact_in_float[i];
    const OpenArray::Run run = array.natural_run();
    const std::int64_t run_bytes = run.levels * plan.level_bytes();
    plan.levels = run.levels;
    if (run_bytes < min_slab_bytes) plan.levels *= (min_slab_bytes + run_bytes - 1) / run_bytes;
    if (run_bytes > max_slab_bytes)
      plan.levels = std::max<std::int64_t>(1, max_slab_bytes / plan.level_bytes());
    plan.levels = std::min(plan.levels, extents.levels);
    for (const SlicedAxis& axis : array.axes())
      if (axis.role == AxisRole::level) plan.shift = axis.start / axis.step % plan.levels;
    const std::int64_t span = layout.is_constant(i) ? 1 : layout.span;
    plan.slots = (span - 1) / plan.levels + 2;
    plan.buffer_bytes = array.buffer_bytes(plan.levels);
    plans.push_back(plan);
  }
  return plans;
}

std::int64_t samples_of_block(const std::vector<SlabPlan>& plans, const SampleLayout& layout,
                              const std::vector<OpenArray>& first_file, std::int64_t points,
                              const DatasetShape& shape) {
  // Levels that windows at both ends of a block share are read twice: blocks are longer than that.
  std::int64_t levels = 4 * std::max<std::int64_t>(0, layout.span - layout.every);
  for (std::size_t i = 0; i < layout.first_constant; ++i)
    if (!first_file[i].array().facts().chunk.empty()) levels = std::max(levels, plans[i].levels);
  const std::int64_t wanted = (levels + layout.every - 1) / layout.every * points;
  const std::int64_t usual = usual_block_sample_bytes / shape.input_bytes();
  const std::int64_t most = max_block_sample_bytes / (shape.input_bytes() + shape.truth_bytes());
  return std::max<std::int64_t>({1, usual, std::min(wanted, most)});
}

void keep_block(std::vector<SlabPlan>& plans, const SampleLayout& layout, std::int64_t windows) {
  const std::int64_t levels = (windows - 1) * std::min(layout.every, layout.span) + layout.span;
  for (std::size_t i = 0; i < layout.first_constant; ++i) {
    SlabPlan& plan = plans[i];
    // Windows that are far apart touch slabs of their own, and each may begin within one.
    const std::int64_t apart = layout.every > layout.span ? windows : 1;
    const std::int64_t slabs = (levels - 1) / plan.levels + 1 + apart;
    plan.slots = std::max(plan.slots, std::min(slabs, max_slots_of_block));
  }
}

std::int64_t bytes_of(const std::vector<SlabPlan>& plans) {
  std::int64_t bytes = 0;
  std::int64_t buffer = 0;
  for (const SlabPlan& plan : plans) {
    bytes += plan.slots * plan.slab_bytes();
    buffer = std::max(buffer, plan.buffer_bytes);
  }
  return bytes + buffer;
}

LevelCache::LevelCache(FileTable& files, std::vector<SlabPlan> plans, std::vector<ArrayMask> masks)
    : files_(files), plans_(std::move(plans)), masks_(std::move(masks)), last_(plans_.size()) {
  const std::int64_t needed = bytes_of(plans_);
  const std::int64_t available = initial_host_memory();
  if (needed > cache_share(available)) {
    fail_input(
        errors::too_large,
        "{}: reading its arrays takes a cache of {}, more than half of the {} of memory that this machine "
        "has left; slice the grid, or write arrays in smaller chunks",
        files.paths().front(), format_bytes(needed), format_bytes(available));
  }
  allocate();
}

void LevelCache::allocate() {
  std::int64_t buffer = 0;
  for (const SlabPlan& plan : plans_) {
    slots_.emplace_back(static_cast<std::size_t>(plan.slots));
    memory_.push_back(HostBytes("data levels", plan.slots * plan.slab_bytes()));
    buffer = std::max(buffer, plan.buffer_bytes);
  }
  buffer_ = HostBytes("data stored levels", buffer);
}

void LevelCache::release() {
  slots_.clear();
  memory_.clear();
  buffer_ = {};
}

const std::byte* LevelCache::level(std::size_t array, std::int64_t file, std::int64_t trajectory,
                                   std::int64_t level) {
  if (memory_.empty()) allocate();
  const SlabPlan& plan = plans_[array];
  const std::int64_t slab = plan.slab_of(level);
  auto& slots = slots_[array];
  const auto holds = [&](const Slot& slot) {
    return slot.file == file && slot.slab == slab && slot.trajectory == trajectory;
  };
  auto found = slots.begin() + static_cast<std::ptrdiff_t>(last_[array]);
  if (!holds(*found)) found = std::find_if(slots.begin(), slots.end(), holds);
  const bool is_new = found == slots.end();
  if (is_new) {
    found = std::min_element(slots.begin(), slots.end(),
                             [](const Slot& left, const Slot& right) { return left.used < right.used; });
  }
  const auto number = found - slots.begin();
  std::byte* memory = memory_[array].data() + number * plan.slab_bytes();
  if (is_new) {
    *found = {};  // of no file, if reading fails
    Slot slot{.file = file, .trajectory = trajectory, .slab = slab};
    read(array, slot, memory);
    *found = slot;
  }
  found->used = ++clock_;
  last_[array] = static_cast<std::size_t>(number);
  return memory + (level - found->first) * plan.level_bytes();
}

void LevelCache::read(std::size_t array, Slot& slot, std::byte* memory) {
  const SlabPlan& plan = plans_[array];
  const OpenArray& opened = files_.open(slot.file).arrays[array];
  slot.first = std::max<std::int64_t>(0, slot.slab * plan.levels - plan.shift);
  const std::int64_t end = std::min(opened.extents().levels, (slot.slab + 1) * plan.levels - plan.shift);
  // Files may be chunked in other ways than the first, of which the buffer was planned.
  if (opened.buffer_bytes(end - slot.first) > plan.buffer_bytes) {
    fail_input(errors::data_mismatch,
               "{}: array {} is stored as {} with other axes or a wider type than in {}",
               files_.paths()[static_cast<std::size_t>(slot.file)], opened.array().path(),
               name_of(opened.array().facts().type), files_.paths().front());
  }
  if (plan.wide) {
    opened.read(slot.trajectory, slot.first, end - slot.first, buffer_.data(),
                reinterpret_cast<double*>(memory), masks_[array]);
  } else {
    opened.read(slot.trajectory, slot.first, end - slot.first, buffer_.data(),
                reinterpret_cast<float*>(memory), masks_[array]);
  }
  files_.require_unchanged(slot.file);
}

}  // namespace mylos
