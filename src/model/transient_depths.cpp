#include "transient_depths.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace mylos {
namespace {

// Rounds of "place the operation that stuck out first". Each costs about as much as the first placement.
constexpr int most_rounds = 64;

class DepthSearch {
 public:
  DepthSearch(const Lifetimes& lifetimes, const std::vector<std::size_t>& heights)
      : tensors_(lifetimes.tensors), heights_(heights), at_operation_(heights.size()) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].kept || tensors_[i].bytes == 0) continue;
      transients_.push_back(i);
      for (std::size_t at = tensors_[i].first; at <= tensors_[i].last; ++at) at_operation_[at].push_back(i);
    }
    live_ = heights;
    for (std::size_t at = 0; at < heights.size(); ++at) {
      for (const std::size_t i : at_operation_[at]) live_[at] += tensors_[i].bytes;
    }
  }

  std::vector<std::size_t> best() {
    if (transients_.empty()) return std::vector<std::size_t>(tensors_.size(), 0);
    const std::size_t bound = *std::max_element(live_.begin(), live_.end());
    // The operations that need the most come first: what they share must lie tight there.
    std::vector<std::size_t> urgency(tensors_.size(), 0);
    for (const std::size_t i : transients_) {
      const auto first = live_.begin() + static_cast<std::ptrdiff_t>(tensors_[i].first);
      const auto last = live_.begin() + static_cast<std::ptrdiff_t>(tensors_[i].last) + 1;
      urgency[i] = *std::max_element(first, last);
    }
    std::vector<std::size_t> best_depths;
    std::size_t best_bytes = static_cast<std::size_t>(-1);
    for (int round = 0; round < most_rounds; ++round) {
      std::vector<std::size_t> depths = place_in_order_of(urgency);
      const auto [bytes, worst] = height_of(depths);
      if (bytes < best_bytes) {
        best_bytes = bytes;
        best_depths = std::move(depths);
      }
      if (best_bytes == bound) break;
      const std::size_t most = *std::max_element(urgency.begin(), urgency.end());
      for (const std::size_t i : at_operation_[worst]) urgency[i] = most + 1;
    }
    return best_depths;
  }

 private:
  /// Each tensor at the least depth that is free during all its operations, the most urgent first.
  std::vector<std::size_t> place_in_order_of(const std::vector<std::size_t>& urgency) const {
    std::vector<std::size_t> order = transients_;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t i) {
        return std::tuple(urgency[i], tensors_[i].last - tensors_[i].first, tensors_[i].bytes);
      };
      return rank(a) > rank(b);
    });
    std::vector<std::size_t> depths(tensors_.size(), 0);
    std::vector<std::vector<std::size_t>> placed(heights_.size());  // by operation
    std::vector<std::pair<std::size_t, std::size_t>> taken;         // [depth, end)
    for (const std::size_t i : order) {
      taken.clear();
      for (std::size_t at = tensors_[i].first; at <= tensors_[i].last; ++at) {
        for (const std::size_t other : placed[at]) {
          taken.emplace_back(depths[other], depths[other] + tensors_[other].bytes);
        }
        placed[at].push_back(i);
      }
      std::sort(taken.begin(), taken.end());
      std::size_t depth = 0;
      for (const auto& [begin, end] : taken) {
        if (begin >= depth + tensors_[i].bytes) break;
        depth = std::max(depth, end);
      }
      depths[i] = depth;
    }
    return depths;
  }

  /// The bytes that the arena needs, and the operation that needs them.
  std::pair<std::size_t, std::size_t> height_of(const std::vector<std::size_t>& depths) const {
    std::size_t bytes = 0;
    std::size_t worst = 0;
    for (std::size_t at = 0; at < heights_.size(); ++at) {
      std::size_t height = heights_[at];
      for (const std::size_t i : at_operation_[at]) {
        height = std::max(height, heights_[at] + depths[i] + tensors_[i].bytes);
      }
      if (height > bytes) {
        bytes = height;
        worst = at;
      }
    }
    return {bytes, worst};
  }

  const std::vector<TensorLifetime>& tensors_;
  const std::vector<std::size_t>& heights_;
  std::vector<std::size_t> transients_;
  std::vector<std::vector<std::size_t>> at_operation_;  // transients alive during each operation
  std::vector<std::size_t> live_;                       // bytes during each operation
};

}  // namespace

std::vector<std::size_t> transient_depths(const Lifetimes& lifetimes,
                                          const std::vector<std::size_t>& heights) {
  return DepthSearch(lifetimes, heights).best();
}

}  // namespace mylos
