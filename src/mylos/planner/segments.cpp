#include "mylos/planner/segments.hpp"

#include <algorithm>
#include <utility>

namespace mylos {
namespace {

/// Apart from what is carried past a stage, which has a different meaning after each stage.
bool are_equal(const Stage& a, const Stage& b) {
  return a.input == b.input && a.input_gradient == b.input_gradient && a.output == b.output &&
         a.output_gradient == b.output_gradient && a.pass_workspace == b.pass_workspace &&
         a.forward_time == b.forward_time && a.variants == b.variants;
}

/// For each stage the number of its kind.
std::vector<std::size_t> stage_kinds(const std::vector<Stage>& stages) {
  std::vector<std::size_t> kinds;
  std::vector<std::size_t> examples;
  for (const Stage& stage : stages) {
    const auto found = std::find_if(examples.begin(), examples.end(),
                                    [&](std::size_t example) { return are_equal(stages[example], stage); });
    kinds.push_back(static_cast<std::size_t>(found - examples.begin()));
    if (found == examples.end()) examples.push_back(kinds.size() - 1);
  }
  return kinds;
}

/// Of the stages before x_k and x_m, as many as `most`, those beside which as much is carried past both.
std::size_t equally_carried(const std::vector<Stage>& stages, std::size_t k, std::size_t m,
                            std::size_t most) {
  const auto carried = [&](std::size_t stage, std::size_t before) {
    const std::vector<std::size_t>& bytes = stages[stage].carried;
    return bytes.empty() ? 0 : bytes[stage - before];
  };
  if (stages[k].carried.empty() && stages[m].carried.empty()) return most;
  std::size_t count = 0;
  while (count < most && carried(k, count + 1) == carried(m, count + 1)) ++count;
  return count;
}

/// The longest segment that ends at a stage and is equal to one that ends earlier.
struct Match {
  std::size_t length = 0;
  std::size_t last = 0;  // of the earlier one
};

std::vector<Match> longest_matches(const std::vector<Stage>& stages) {
  const std::vector<std::size_t> kinds = stage_kinds(stages);
  std::vector<Match> matches(stages.size());
  std::vector<std::size_t> before(stages.size() + 1, 0);  // [m + 1]: equal stages up to k - 1 and up to m
  std::vector<std::size_t> lengths(stages.size() + 1, 0);
  for (std::size_t k = 0; k < stages.size(); ++k) {
    for (std::size_t m = 0; m < k; ++m) {
      lengths[m + 1] = kinds[m] == kinds[k] ? 1 + equally_carried(stages, k, m, before[m]) : 0;
      if (lengths[m + 1] > matches[k].length) matches[k] = {lengths[m + 1], m};
    }
    std::swap(before, lengths);
  }
  return matches;
}

}  // namespace

Segments::Segments(const std::vector<Stage>& stages) : count_(stages.size()) {
  const std::vector<Match> matches = longest_matches(stages);
  kind_of_.reserve(count_ * (count_ + 1) / 2);
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t k = i; k < count_; ++k) {
      const Match& match = matches[k];
      if (k - i < match.length) {
        kind_of_.push_back(static_cast<std::uint32_t>(kind(i - (k - match.last), match.last)));
        continue;
      }
      kind_of_.push_back(static_cast<std::uint32_t>(examples_.size()));
      examples_.push_back({i, k});
      splits_ += k - i;
    }
  }
}

}  // namespace mylos
