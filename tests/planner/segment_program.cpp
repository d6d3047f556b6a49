#include "segment_program.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace mylos::test {
namespace {

/// Bytes and time of a segment of blocks [first, end) on top of its input and what lies below.
struct Segments {
  const ChainCost& cost;

  [[nodiscard]] std::size_t size(std::size_t boundary) const {
    return boundary == 0 ? cost.input_bytes : cost.blocks[boundary - 1].output_bytes;
  }

  /// First forward of a segment that keeps its input only; nothing else of it is there afterwards.
  [[nodiscard]] std::size_t pass_peak(std::size_t first, std::size_t end) const {
    std::size_t peak = 0;
    for (std::size_t q = first; q < end; ++q) {
      peak = std::max(peak, (q > first ? size(q) : 0) + size(q + 1) + cost.blocks[q].forward_workspace);
    }
    return peak;
  }

  /// Forward that keeps all and backward. `gradient`: bytes alive at the forward's time.
  [[nodiscard]] std::size_t keep_peak(std::size_t first, std::size_t end, std::size_t gradient) const {
    std::size_t peak = 0;
    std::size_t kept = 0;
    std::vector<std::size_t> kept_at;
    for (std::size_t q = first; q < end; ++q) {
      kept += size(q + 1) + cost.blocks[q].variants[0].saved_bytes;
      kept_at.push_back(kept);
      peak = std::max(peak, kept + gradient + cost.blocks[q].forward_workspace);
    }
    if (end == cost.blocks.size()) peak = std::max(peak, kept + size(end) + cost.loss_workspace);
    for (std::size_t q = first; q < end; ++q) {
      peak = std::max(peak, kept_at[q - first] + size(q + 1) + (q > 0 ? size(q) : 0) +
                                cost.blocks[q].variants[0].backward_workspace);
    }
    return peak;
  }
};

}  // namespace

double best_segments_time(const ChainCost& cost, std::size_t budget) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const Segments segments{cost};
  const std::size_t count = cost.blocks.size();
  double once = cost.loss_time;
  for (const StageCost& block : cost.blocks) once += block.forward_time + block.backward_time;

  // From each cut on: bytes of the inputs kept so far -> least time of second forwards so far.
  std::vector<std::map<std::size_t, double>> reached(count + 1);
  reached[0][cost.input_bytes] = 0;
  double best = never;
  for (std::size_t first = 0; first < count; ++first) {
    double dominated = never;  // more bytes must buy time
    for (const auto& [kept, time] : reached[first]) {
      if (time >= dominated) continue;
      dominated = time;
      if (kept + segments.keep_peak(first, count, 0) <= budget) best = std::min(best, time + once);
      double again = 0;
      for (std::size_t end = first + 1; end < count; ++end) {
        again += cost.blocks[end - 1].forward_time;
        const std::size_t peak =
            std::max(segments.pass_peak(first, end), segments.keep_peak(first, end, segments.size(end)));
        if (kept + peak > budget) continue;
        const auto [found, is_new] = reached[end].try_emplace(kept + segments.size(end), time + again);
        if (!is_new) found->second = std::min(found->second, time + again);
      }
    }
  }
  return best;
}

}  // namespace mylos::test
