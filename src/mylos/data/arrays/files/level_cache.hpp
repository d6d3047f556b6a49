// LevelCache: converted levels of arrays, as [point][channel]; the most recently used ones stay in memory.
//
// Levels are read in slabs: runs of adjacent levels of one trajectory that cover complete chunks, so that a
// chunk is decoded once for all its levels, and that are long enough for one call of HDF5. A slab is the unit
// of the cache. Values are float, or double for arrays whose differences are taken and that float cannot hold
// exactly; what a mask leaves out is 0. All memory is allocated by the constructor, or after release() by the
// next read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/data/arrays/files/file_table.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/files/host_array.hpp"

namespace mylos {

/// How an array is cached.
struct SlabPlan {
  std::int64_t level_elements = 1;
  std::int64_t levels = 1;        // of a slab
  std::int64_t shift = 0;         // slab i has levels [i * levels - shift, (i + 1) * levels - shift)
  std::int64_t slots = 1;         // slabs in memory
  std::int64_t buffer_bytes = 0;  // for the stored numbers of a slab
  bool wide = false;              // double

  [[nodiscard]] std::int64_t element_bytes() const { return wide ? 8 : 4; }
  [[nodiscard]] std::int64_t level_bytes() const { return level_elements * element_bytes(); }
  [[nodiscard]] std::int64_t slab_bytes() const { return levels * level_bytes(); }
  [[nodiscard]] std::int64_t slab_of(std::int64_t level) const { return (level + shift) / levels; }
};

/// Returns the plans of all arrays, with slots for the slabs that a window touches.
[[nodiscard]] std::vector<SlabPlan> plan_slabs(const SampleLayout& layout, const ArrayOptions& options,
                                               const std::vector<OpenArray>& first_file);
/// Returns the samples of a block of shuffle = "blocks" by the chunks of the first file. `points`: the
/// samples of a window.
[[nodiscard]] std::int64_t samples_of_block(const std::vector<SlabPlan>& plans, const SampleLayout& layout,
                                            const std::vector<OpenArray>& first_file, std::int64_t points,
                                            const DatasetShape& shape);
/// Gives the plans slots for the slabs that a block of adjacent windows touches: its inputs are read before
/// its targets, often from the same levels. There are no more, because slabs that are read in turn pass
/// through all slots, and would not stay in a core's own cache.
void keep_block(std::vector<SlabPlan>& plans, const SampleLayout& layout, std::int64_t windows);
/// Returns the bytes that a cache of these plans allocates.
[[nodiscard]] std::int64_t bytes_of(const std::vector<SlabPlan>& plans);

class LevelCache {
 public:
  /// `files` must outlive the cache. `masks`: of each array. Throws Error (bad_input) if the machine has too
  /// little memory.
  LevelCache(FileTable& files, std::vector<SlabPlan> plans, std::vector<ArrayMask> masks);

  [[nodiscard]] const SlabPlan& plan(std::size_t array) const { return plans_[array]; }
  [[nodiscard]] const std::vector<ArrayMask>& masks() const { return masks_; }
  [[nodiscard]] std::int64_t memory_bytes() const { return bytes_of(plans_); }
  /// Returns a level, valid until `slots` other slabs of the array have been read. Throws Error (bad_input)
  /// as OpenArray::read does, or if the file has changed. Not for concurrent calls.
  [[nodiscard]] const std::byte* level(std::size_t array, std::int64_t file, std::int64_t trajectory,
                                       std::int64_t level);
  /// Frees the memory, which the next read allocates again.
  void release();
  /// Returns the levels behind `level`, inclusive, that lie in the same slab.
  [[nodiscard]] std::int64_t levels_from(std::size_t array, std::int64_t level) const {
    const SlabPlan& plan = plans_[array];
    return plan.levels - (level + plan.shift) % plan.levels;
  }

 private:
  struct Slot {
    std::int64_t file = -1;
    std::int64_t trajectory = 0;
    std::int64_t slab = 0;
    std::uint64_t used = 0;
    std::int64_t first = 0;  // level
  };
  void allocate();
  void read(std::size_t array, Slot& slot, std::byte* memory);

  FileTable& files_;
  std::vector<SlabPlan> plans_;
  std::vector<ArrayMask> masks_;
  std::vector<std::vector<Slot>> slots_;
  std::vector<std::size_t> last_;  // the slot that was used last, of each array
  std::vector<HostBytes> memory_;
  HostBytes buffer_;
  std::uint64_t clock_ = 0;
};

}  // namespace mylos
