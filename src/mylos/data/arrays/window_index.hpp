// WindowIndex: the numbers of windows in time, over all files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mylos {

class WindowIndex {
 public:
  /// Windows of `span` levels that begin `every` levels apart.
  WindowIndex(std::int64_t span, std::int64_t every) : span_(span), every_(every) {}

  void add_file(std::int64_t trajectories, std::int64_t levels) {
    files_.push_back({trajectories, levels});
    first_.push_back(windows() + trajectories * windows_of(levels));
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
    const std::int64_t each = windows_of(levels(file));
    return {file, within / each, within % each * every_};
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
  /// Returns the windows of a trajectory with this number of levels.
  [[nodiscard]] std::int64_t windows_of(std::int64_t levels) const {
    return levels < span_ ? 0 : (levels - span_) / every_ + 1;
  }

 private:
  struct File {
    std::int64_t trajectories;
    std::int64_t levels;
  };
  static std::size_t at(std::int64_t file) { return static_cast<std::size_t>(file); }

  std::int64_t span_;
  std::int64_t every_;
  std::vector<File> files_;
  std::vector<std::int64_t> first_ = {0};  // window of each file, then the number of all
};

}  // namespace mylos
