#include "exhaustive_search.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <queue>
#include <unordered_map>

namespace mylos::test {
namespace {

constexpr std::size_t max_blocks = 8;

/// What is in memory between two operations.
struct State {
  // Of x_i, with all that is carried past it until backward of block i: 0 absent, 1 there, 2 there until
  // then. x_i may be in memory for a later boundary nevertheless.
  std::array<std::uint8_t, max_blocks + 1> activation{};
  std::array<std::uint8_t, max_blocks> saved{};  // of block i: 0 nothing, v + 1 variant v and x_{i+1}
  std::uint8_t gradient = 0;  // 0: no loss yet; i + 1: δ_i, whose blocks from i on are done

  [[nodiscard]] std::uint64_t key() const {
    std::uint64_t key = gradient;
    for (const std::uint8_t value : activation) key = key * 3 + value;
    for (const std::uint8_t value : saved) key = key * 4 + value;
    return key;
  }
};

class Search {
 public:
  Search(const ChainCost& cost, std::size_t budget)
      : cost_(cost), budget_(budget), count_(cost.blocks.size()) {
    for (std::size_t i = 0; i < count_; ++i)
      if (cost.blocks[i].skip != no_skip) read_until_[cost.blocks[i].skip] = i + 1;
  }

  /// Dijkstra's algorithm over states.
  double run() {
    State start;
    start.activation[0] = 2;
    reach(start, 0);
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (entry.time > times_.at(entry.state.key())) continue;
      if (entry.state.gradient == 1) return entry.time;
      try_all(entry.state, entry.time);
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  struct Entry {
    double time;
    State state;
    bool operator<(const Entry& other) const { return time > other.time; }
  };

  void reach(const State& state, double time) {
    const auto [found, is_new] = times_.try_emplace(state.key(), time);
    if (!is_new && found->second <= time) return;
    found->second = time;
    queue_.push({time, state});
  }

  [[nodiscard]] std::size_t size(std::size_t boundary) const {
    return boundary == 0 ? cost_.input_bytes : cost_.blocks[boundary - 1].output_bytes;
  }

  /// Whether x_from is a part of the tuple that x_boundary is: some block from `boundary` on reads it.
  [[nodiscard]] bool is_carried(std::size_t from, std::size_t boundary) const {
    return from < boundary && boundary < read_until_[from];
  }

  [[nodiscard]] bool is_in_memory(const State& state, std::size_t i) const {
    if (state.activation[i] > 0) return true;
    for (std::size_t later = i + 1; later <= count_; ++later) {
      const bool is_whole = state.gradient == 0 || later + 1 < state.gradient;  // until δ_later is there
      if (state.activation[later] > 0 && is_whole && is_carried(i, later)) return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t bytes(const State& state) const {
    std::size_t sum = 0;
    if (state.gradient > 0) {
      const std::size_t boundary = state.gradient - 1u;
      sum += size(boundary);
      for (std::size_t from = 1; from < boundary; ++from) sum += is_carried(from, boundary) ? size(from) : 0;
    }
    for (std::size_t i = 0; i <= count_; ++i) {
      if (is_in_memory(state, i)) sum += size(i);
      if (i < count_ && state.saved[i] > 0) sum += cost_.blocks[i].variants[state.saved[i] - 1u].saved_bytes;
    }
    return sum;
  }

  void try_all(const State& state, double time) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (state.activation[i] == 0 || is_in_memory(state, i + 1)) continue;
      if (state.gradient > 0 && i + 2 > state.gradient) continue;  // its backward is done
      for (std::size_t keep = 0; keep < 2 + cost_.blocks[i].variants.size(); ++keep)
        forward(state, time, i, keep);
    }
    if (state.gradient == 0 && state.activation[count_] > 0) loss(state, time);
    if (state.gradient > 1) backward(state, time, state.gradient - 2u);
  }

  /// keep 0: nothing, 1: the input, 2 + v: variant v.
  void forward(State state, double time, std::size_t i, std::size_t keep) {
    const StageCost& block = cost_.blocks[i];
    state.activation[i + 1] = keep >= 2 ? 2 : 1;
    if (keep >= 2) state.saved[i] = static_cast<std::uint8_t>(keep - 1);
    if (bytes(state) + block.forward_workspace > budget_) return;
    if (keep >= 1) state.activation[i] = 2;
    if (state.activation[i] == 1) state.activation[i] = 0;
    reach(state, time + block.forward_time);
  }

  void loss(State state, double time) {
    state.gradient = static_cast<std::uint8_t>(count_ + 1);
    if (bytes(state) + cost_.loss_workspace > budget_) return;
    if (state.saved[count_ - 1] == 0) state.activation[count_] = 0;
    reach(state, time + cost_.loss_time);
  }

  void backward(State state, double time, std::size_t i) {
    if (state.saved[i] == 0 || state.activation[i] == 0) return;
    const StageCost& block = cost_.blocks[i];
    const VariantCost& variant = block.variants[state.saved[i] - 1u];
    std::size_t written = i > 0 ? size(i) : 0;
    const bool starts_gradient = block.skip != no_skip && block.skip > 0 && !is_carried(block.skip, i + 1);
    if (starts_gradient) written += size(block.skip);
    if (bytes(state) + written + variant.backward_workspace > budget_) return;
    state.gradient = static_cast<std::uint8_t>(i + 1);
    state.saved[i] = 0;
    state.activation[i + 1] = 0;
    if (i > 0 && state.saved[i - 1] == 0) state.activation[i] = 0;
    reach(state, time + block.backward_time + variant.recompute_time);
  }

  const ChainCost& cost_;
  std::size_t budget_;
  std::size_t count_;
  std::array<std::size_t, max_blocks + 1>
      read_until_{};  // of each boundary: behind the last block that reads it
  std::priority_queue<Entry> queue_;
  std::unordered_map<std::uint64_t, double> times_;
};

}  // namespace

double fastest_time(const ChainCost& cost, std::size_t budget) {
  return Search(cost, budget).run();
}

}  // namespace mylos::test
