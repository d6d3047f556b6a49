#include "mylos/planner/min_memory.hpp"

#include <algorithm>
#include <tuple>

namespace mylos {
namespace {

/// The minimum in the order of (bytes, time).
class MinMemory {
 public:
  explicit MinMemory(const StageChain& chain)
      : stages_(chain.stages),
        segments_(chain.segments),
        best_(segments_.kinds()),
        choices_(best_.size()),
        column_(stages_.size()) {
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      for (std::size_t i = k + 1; i-- > 0;) {
        const std::size_t kind = segments_.kind(i, k);
        if (segments_.is_example(i, k)) choose(i, k, kind);
        column_[i] = best_[kind];
      }
    }
  }

  [[nodiscard]] Schedule schedule() const {
    Schedule result;
    append_segment(result, stages_.size(), 0, stages_.size() - 1, 0,
                   [this](std::size_t i, std::size_t k, std::size_t) {
                     SegmentChoice choice = choices_[segments_.kind(i, k)];
                     choice.stop += i;  // of any segment of its kind
                     return choice;
                   });
    return result;
  }

 private:
  struct Best {
    std::size_t bytes = static_cast<std::size_t>(-1);
    double time = 0;
  };

  void choose(std::size_t i, std::size_t k, std::size_t kind) {
    Best best;
    SegmentChoice& choice = choices_[kind];
    const auto consider = [&](std::size_t bytes, double time, std::size_t stages, std::size_t variant) {
      if (std::tie(bytes, time) < std::tie(best.bytes, best.time)) {
        best = {bytes, time};
        choice = {stages, variant};
      }
    };
    for (std::size_t v = 0; v < stages_[i].variants.size(); ++v) {
      const StageVariant& variant = stages_[i].variants[v];
      const Best rest = i < k ? column_[i + 1] : Best{.bytes = 0};
      consider(std::max(keep_bytes(stages_, i, k, variant), variant.kept + rest.bytes),
               variant.time + rest.time, 0, v);
    }
    const std::uint32_t* const row = segments_.row(i, i);
    double pass_time = 0;
    std::size_t pass = 0;
    for (std::size_t j = i + 1; j <= k; ++j) {
      pass_time += stages_[j - 1].forward_time;
      pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
      if (pass > best.bytes) break;  // and more for later ones
      const Best& first = column_[j];
      const Best& second = best_[row[j - 1 - i]];
      consider(std::max({pass, stages_[j].input_beside(i) + first.bytes, second.bytes}),
               pass_time + first.time + second.time, j - i, 0);
    }
    best_[kind] = best;
  }

  const std::vector<Stage>& stages_;
  const Segments& segments_;
  std::vector<Best> best_;              // of each kind of segment
  std::vector<SegmentChoice> choices_;  // likewise; stop counts from the segment's first stage
  std::vector<Best> column_;            // of the segments (i, k) for the present k, by i
};

}  // namespace

Schedule min_memory_schedule(const StageChain& chain) {
  return MinMemory(chain).schedule();
}

}  // namespace mylos
