// Segments: which stretches of a chain are equal, so that each kind is planned once.
//
// Deep networks repeat a few layers. Two segments (i, k) are equal where their stages have the same bytes,
// times and skips; every table over segments then has the same row for both. Of the n² / 2 segments of a
// chain of n stages that repeats after p stages, about (p + 2) · n differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mylos/planner/stages.hpp"

namespace mylos {

class Segments {
 public:
  explicit Segments(const std::vector<Stage>& stages);

  /// How many kinds there are.
  [[nodiscard]] std::size_t kinds() const { return examples_.size(); }
  /// The kind of segment (i, k), a number below kinds().
  [[nodiscard]] std::size_t kind(std::size_t i, std::size_t k) const { return *row(i, k); }
  /// The kinds of (i, k), (i, k + 1), …, side by side.
  [[nodiscard]] const std::uint32_t* row(std::size_t i, std::size_t k) const {
    return kind_of_.data() + i * (2 * count_ - i + 1) / 2 + k - i;
  }
  /// Whether (i, k) is the one segment of its kind that a table is filled for. Its parts are equal to such
  /// segments that end earlier, or at k and begin later.
  [[nodiscard]] bool is_example(std::size_t i, std::size_t k) const {
    const Segment& example = examples_[kind(i, k)];
    return example.first == i && example.last == k;
  }
  /// The splits of all kinds into two parts: what a program that tries each of them takes time for.
  [[nodiscard]] std::size_t splits() const { return splits_; }

 private:
  struct Segment {
    std::size_t first = 0;
    std::size_t last = 0;  // inclusive
  };

  std::size_t count_;  // of stages
  std::vector<std::uint32_t> kind_of_;
  std::vector<Segment> examples_;  // of each kind
  std::size_t splits_ = 0;
};

/// A chain's stages with the kinds of its segments.
struct StageChain {
  StageChain(const ChainCost& cost) : StageChain(stages_of(cost)) {}
  explicit StageChain(std::vector<Stage> of) : stages(std::move(of)), segments(stages) {}

  std::vector<Stage> stages;
  Segments segments;
};

}  // namespace mylos
