#include "mylos/model/memory/transient_depths.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mylos {
namespace {

constexpr std::size_t tight_operations = 3;  // of a tensor's life that propose places for it
constexpr std::size_t max_companions = 3;    // of which every combination may lie above it

struct Interval {
  std::size_t begin;  // depth
  std::size_t end;
};

/// Goes through the operations once and keeps many states, a state being where the living tensors lie.
class DepthSearch {
 public:
  DepthSearch(const std::vector<TensorLifetime>& tensors, const std::vector<std::size_t>& heights,
              std::size_t bytes)
      : tensors_(tensors), heights_(heights), bytes_(bytes), alive_(heights.size()), live_(heights) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].kept || tensors_[i].bytes == 0) continue;
      for (std::size_t at = tensors_[i].first; at <= tensors_[i].last; ++at) {
        alive_[at].push_back(i);
        live_[at] += tensors_[i].bytes;
      }
    }
  }

  std::optional<std::vector<std::size_t>> depths(std::size_t max_states) {
    if (*std::max_element(live_.begin(), live_.end()) > bytes_) return std::nullopt;
    places_.assign(1, {});
    std::vector<State> states{{}};
    for (std::size_t at = 0; at < heights_.size(); ++at) {
      propose(at);
      std::map<std::vector<std::size_t>, State> next;  // by the depths of what lives on
      for (std::size_t n = 0; n < states.size(); ++n) {
        // Each state has its share: those that follow from the first are much alike.
        max_next_ = max_states * (n + 1) / states.size();
        extend(at, 0, states[n], next);
      }
      if (next.empty()) return std::nullopt;
      states.clear();
      for (auto& entry : next) states.push_back(std::move(entry.second));
    }
    std::vector<std::size_t> depths(tensors_.size(), 0);
    for (std::size_t place = states.front().place; place > 0; place = places_[place].before) {
      depths[places_[place].tensor] = places_[place].depth;
    }
    return depths;
  }

 private:
  struct Place {
    std::size_t tensor = 0;
    std::size_t depth = 0;
    std::size_t before = 0;  // index of the place chosen before it
  };
  struct State {
    std::vector<std::pair<std::size_t, std::size_t>> living;  // tensor, depth; of those that live on
    std::size_t place = 0;                                    // last place chosen
  };

  [[nodiscard]] std::size_t capacity(std::size_t at) const { return bytes_ - heights_[at]; }

  /// The tensors that begin at an operation, those that live on first, and the depths that suit the tightest
  /// operations of their lives: below some of their companions there, or above some and flush with the stack.
  void propose(std::size_t at) {
    beginning_.clear();
    for (const std::size_t i : alive_[at]) {
      if (tensors_[i].first == at) beginning_.push_back(i);
    }
    std::stable_sort(beginning_.begin(), beginning_.end(), [&](std::size_t a, std::size_t b) {
      const bool a_goes_on = tensors_[a].last > at;
      const bool b_goes_on = tensors_[b].last > at;
      return a_goes_on != b_goes_on ? a_goes_on : tensors_[a].bytes > tensors_[b].bytes;
    });
    proposals_.assign(beginning_.size(), {});
    limits_.clear();
    for (std::size_t n = 0; n < beginning_.size(); ++n) {
      const TensorLifetime& tensor = tensors_[beginning_[n]];
      std::vector<std::size_t> operations;
      std::size_t limit = bytes_;
      for (std::size_t t = tensor.first; t <= tensor.last; ++t) {
        operations.push_back(t);
        limit = std::min(limit, capacity(t));
      }
      limits_.push_back(limit);
      if (tensor.first == tensor.last) continue;
      const auto tight =
          operations.begin() + static_cast<std::ptrdiff_t>(std::min(tight_operations, operations.size()));
      std::partial_sort(operations.begin(), tight, operations.end(), [&](std::size_t a, std::size_t b) {
        return live_[a] != live_[b] ? live_[a] > live_[b] : a < b;
      });
      for (auto t = operations.begin(); t != tight; ++t) propose(*t, beginning_[n], proposals_[n]);
    }
  }

  void propose(std::size_t at, std::size_t tensor, std::vector<std::size_t>& depths) const {
    std::vector<std::size_t> sums{0};
    std::size_t companions = 0;
    for (const std::size_t other : alive_[at]) {
      if (other == tensor || ++companions > max_companions) continue;
      const std::size_t count = sums.size();
      for (std::size_t i = 0; i < count; ++i) sums.push_back(sums[i] + tensors_[other].bytes);
    }
    for (const std::size_t sum : sums) {
      depths.push_back(sum);
      const std::size_t above = sum + tensors_[tensor].bytes;
      if (above <= capacity(at)) depths.push_back(capacity(at) - above);
    }
  }

  [[nodiscard]] std::vector<Interval> taken(const State& state) const {
    std::vector<Interval> intervals;
    for (const auto& [tensor, depth] : state.living)
      intervals.push_back({depth, depth + tensors_[tensor].bytes});
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    return intervals;
  }

  /// Places the n-th beginning tensor and those after it in every way that is worth trying.
  void extend(std::size_t at, std::size_t n, const State& state,
              std::map<std::vector<std::size_t>, State>& next) {
    if (next.size() >= max_next_) return;
    if (n == beginning_.size()) {
      finish(at, state, next);
      return;
    }
    const std::size_t tensor = beginning_[n];
    const std::size_t bytes = tensors_[tensor].bytes;
    const bool goes_on = tensors_[tensor].last > at;
    std::vector<std::size_t> depths;
    std::size_t free_from = 0;
    std::vector<Interval> intervals = taken(state);
    intervals.push_back({limits_[n], limits_[n]});
    for (const Interval& interval : intervals) {
      const std::size_t end = std::min(interval.begin, limits_[n]);
      if (free_from + bytes <= end) {
        depths.push_back(free_from);
        if (!goes_on) break;
        depths.push_back(end - bytes);
        for (const std::size_t depth : proposals_[n]) {
          if (depth > free_from && depth + bytes < end) depths.push_back(depth);
        }
      }
      free_from = std::max(free_from, interval.end);
    }
    std::vector<std::size_t> tried;
    for (const std::size_t depth : depths) {
      if (std::find(tried.begin(), tried.end(), depth) != tried.end()) continue;
      tried.push_back(depth);
      State with = state;
      with.living.emplace_back(tensor, depth);
      places_.push_back({tensor, depth, state.place});
      with.place = places_.size() - 1;
      extend(at, n + 1, with, next);
    }
  }

  void finish(std::size_t at, const State& state, std::map<std::vector<std::size_t>, State>& next) const {
    State after{{}, state.place};
    std::vector<std::size_t> key;
    for (const auto& [tensor, depth] : state.living) {
      if (tensors_[tensor].last == at) continue;
      after.living.emplace_back(tensor, depth);
      key.push_back(depth);
    }
    next.try_emplace(std::move(key), std::move(after));
  }

  const std::vector<TensorLifetime>& tensors_;
  const std::vector<std::size_t>& heights_;
  std::size_t bytes_;                            // of the arena
  std::vector<std::vector<std::size_t>> alive_;  // what passes and is alive, by operation
  std::vector<std::size_t> live_;                // bytes, by operation
  std::size_t max_next_ = 0;                     // states after an operation, so far
  std::vector<Place> places_;                    // chosen on the way to any state; [0] is the start
  std::vector<std::size_t> beginning_;
  std::vector<std::vector<std::size_t>> proposals_;  // of each in beginning_
  std::vector<std::size_t> limits_;                  // of each in beginning_: depth that it may reach
};

}  // namespace

std::optional<std::vector<std::size_t>> transient_depths(const std::vector<TensorLifetime>& tensors,
                                                         const std::vector<std::size_t>& heights,
                                                         std::size_t bytes, std::size_t max_states) {
  return DepthSearch(tensors, heights, bytes).depths(max_states);
}

}  // namespace mylos
