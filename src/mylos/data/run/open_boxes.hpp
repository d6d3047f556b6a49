// OpenBoxes: the stores of the boxes of a run's samples. Readers and passes share them, as they do whole
// stores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

class OpenBoxes {
 public:
  /// `whole_truth`: labels or targets are those of the whole samples (SampleStore::part).
  explicit OpenBoxes(bool whole_truth) : whole_truth_(whole_truth) {}

  /// Returns the store itself if samples are whole, else that of their boxes.
  const SampleStore& of(const SampleStore& whole, const GridPart& part,
                        const std::vector<std::int64_t>& grid) const {
    if (!part.is_split()) return whole;
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        open_, [&](const Entry& entry) { return entry.whole == &whole && entry.part == part; });
    if (found != open_.end()) return *found->boxes;
    return *open_.emplace_back(Entry{&whole, part, whole.part(part, grid, whole_truth_)}).boxes;
  }
  /// Returns such a store of which only the sizes are asked: another plan may divide samples otherwise.
  std::shared_ptr<const SampleStore> peek_at(const SampleStore& whole, const GridPart& part,
                                             const std::vector<std::int64_t>& grid) const {
    if (!part.is_split()) return {std::shared_ptr<const SampleStore>(), &whole};
    return whole.part(part, grid, whole_truth_);
  }
  /// Returns the same, to be read from now on: the whole store needs no memory for that.
  const SampleStore& ready(const SampleStore& whole, const GridPart& part,
                           const std::vector<std::int64_t>& grid) const {
    const SampleStore& store = of(whole, part, grid);
    if (&store != &whole) whole.release();
    return store;
  }
  /// Called before stores read columns in another order, and before readers exist.
  void forget() { open_.clear(); }

 private:
  struct Entry {
    const SampleStore* whole;
    GridPart part;
    std::shared_ptr<SampleStore> boxes;
  };
  bool whole_truth_;
  mutable std::mutex mutex_;
  mutable std::vector<Entry> open_;
};

}  // namespace mylos
