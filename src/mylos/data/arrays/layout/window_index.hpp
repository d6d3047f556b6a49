// WindowIndex: the numbers of windows in time, over all files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mylos {

/// Levels [first, first + count) of a file, which follow each other in time.
struct LevelRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class WindowIndex {
 public:
  /// Windows of `span` levels that begin `every` levels apart.
  WindowIndex(std::int64_t span, std::int64_t every) : span_(span), every_(every) {}

  /// `runs`: of each trajectory; no window crosses from one to the next.
  void add_file(std::int64_t trajectories, std::int64_t levels, const std::vector<LevelRun>& runs) {
    File file{trajectories, levels, {}, {}, 0};
    for (const LevelRun& run : runs) {
      if (windows_of(run.count) == 0) continue;
      file.runs.push_back(run);
      file.first.push_back(file.windows);
      file.windows += windows_of(run.count);
    }
    first_.push_back(windows() + trajectories * file.windows);
    files_.push_back(std::move(file));
  }

  struct Position {
    std::int64_t file = 0;
    std::int64_t trajectory = 0;
    std::int64_t level = 0;  // the first of the window
  };
  [[nodiscard]] std::int64_t windows() const { return first_.back(); }
  [[nodiscard]] Position position_of(std::int64_t window) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), window);
    const std::int64_t file = after - first_.begin() - 1;
    const std::int64_t within = window - first_window(file);
    const std::int64_t each = windows_of_trajectory(file);
    Position position{file, within / each, 0};
    for_runs(file, within % each, 1, [&](std::int64_t level, std::int64_t) { position.level = level; });
    return position;
  }
  /// Calls use(level, count) for the windows [first, first + count) of a trajectory, run by run: `count`
  /// windows, of which the first begins at `level`.
  template <class Use>
  void for_runs(std::int64_t file, std::int64_t first, std::int64_t count, const Use& use) const {
    const File& all = files_[at(file)];
    for (std::size_t i = run_of(all, first); i < all.runs.size() && all.first[i] < first + count; ++i) {
      const std::int64_t begin = std::max(first - all.first[i], std::int64_t{0});
      const std::int64_t end = std::min(first + count - all.first[i], windows_of(all.runs[i].count));
      use(all.runs[i].first + begin * every_, end - begin);
    }
  }
  /// Returns whether window `last` lies on the same run of levels as window `first` before it.
  [[nodiscard]] bool follow(std::int64_t first, std::int64_t last) const {
    const std::int64_t file = position_of(first).file;
    const std::int64_t within = first - first_window(file);
    const std::int64_t each = windows_of_trajectory(file);
    const std::int64_t begin = within % each;
    const std::int64_t end = begin + last - first;
    const File& all = files_[at(file)];
    return end < each && run_of(all, begin) == run_of(all, end);
  }
  [[nodiscard]] std::int64_t first_window(std::int64_t file) const { return first_[at(file)]; }
  [[nodiscard]] std::int64_t windows_in(std::int64_t file) const {
    return first_[at(file) + 1] - first_[at(file)];
  }
  [[nodiscard]] std::int64_t trajectories(std::int64_t file) const { return files_[at(file)].trajectories; }
  [[nodiscard]] std::int64_t levels(std::int64_t file) const { return files_[at(file)].levels; }
  [[nodiscard]] std::int64_t files() const { return static_cast<std::int64_t>(files_.size()); }
  [[nodiscard]] std::int64_t span() const { return span_; }
  [[nodiscard]] std::int64_t every() const { return every_; }
  [[nodiscard]] std::int64_t windows_of_trajectory(std::int64_t file) const {
    return files_[at(file)].windows;
  }
  [[nodiscard]] std::int64_t memory_bytes() const {
    std::size_t bytes = first_.size() * sizeof(std::int64_t) + files_.size() * sizeof(File);
    for (const File& file : files_) bytes += file.runs.size() * (sizeof(LevelRun) + sizeof(std::int64_t));
    return static_cast<std::int64_t>(bytes);
  }

 private:
  struct File {
    std::int64_t trajectories;
    std::int64_t levels;
    std::vector<LevelRun> runs;       // those with windows
    std::vector<std::int64_t> first;  // window of each run
    std::int64_t windows;             // of a trajectory
  };
  /// Returns the run that has this window of a trajectory.
  static std::size_t run_of(const File& file, std::int64_t window) {
    const auto after = std::upper_bound(file.first.begin(), file.first.end(), window);
    return static_cast<std::size_t>(after - file.first.begin()) - 1;
  }
  [[nodiscard]] std::int64_t windows_of(std::int64_t levels) const {
    return levels < span_ ? 0 : (levels - span_) / every_ + 1;
  }
  static std::size_t at(std::int64_t file) { return static_cast<std::size_t>(file); }

  std::int64_t span_;
  std::int64_t every_;
  std::vector<File> files_;
  std::vector<std::int64_t> first_ = {0};  // window of each file, then the number of all
};

}  // namespace mylos
