#include "mylos/planner/least_memory.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "stages.hpp"

namespace mylos {
namespace {

/// How a segment runs. The least comes first in the order of (bytes, time).
struct Choice {
  std::size_t bytes = static_cast<std::size_t>(-1);
  double time = 0;
  std::size_t stop = 0;  // where the pass that comes back ends; the segment's first stage: it keeps a variant
  std::size_t variant = 0;
};

class LeastMemory {
 public:
  explicit LeastMemory(const ChainCost& cost)
      : stages_(stages_of(cost)), choices_(stages_.size() * stages_.size()) {
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      for (std::size_t i = k + 1; i-- > 0;) choose(i, k);
    }
  }

  void append(Schedule& schedule, std::size_t i, std::size_t k) const {
    const Choice& choice = at(i, k);
    if (choice.stop > i) {
      append_pass(schedule, i, choice.stop);
      append(schedule, choice.stop, k);
      append(schedule, i, choice.stop - 1);
      return;
    }
    append_forward(schedule, stages_, i, choice.variant);
    if (i < k) append(schedule, i + 1, k);
    append_backward(schedule, stages_, i, choice.variant);
  }

  [[nodiscard]] std::size_t last() const { return stages_.size() - 1; }

 private:
  [[nodiscard]] const Choice& at(std::size_t i, std::size_t k) const {
    return choices_[i * stages_.size() + k];
  }

  void choose(std::size_t i, std::size_t k) {
    Choice& best = choices_[i * stages_.size() + k];
    const auto consider = [&](std::size_t bytes, double time, std::size_t stop, std::size_t variant) {
      if (std::tie(bytes, time) < std::tie(best.bytes, best.time)) best = {bytes, time, stop, variant};
    };
    for (std::size_t v = 0; v < stages_[i].variants.size(); ++v) {
      const StageVariant& variant = stages_[i].variants[v];
      const Choice rest = i < k ? at(i + 1, k) : Choice{0};
      consider(std::max(keep_bytes(stages_, i, k, variant), variant.kept + rest.bytes),
               variant.time + rest.time, i, v);
    }
    double pass_time = 0;
    std::size_t pass = 0;
    for (std::size_t j = i + 1; j <= k; ++j) {
      pass_time += stages_[j - 1].forward_time;
      pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
      consider(std::max({pass, stages_[j].input + at(j, k).bytes, at(i, j - 1).bytes}),
               pass_time + at(j, k).time + at(i, j - 1).time, j, 0);
    }
  }

  std::vector<Stage> stages_;
  std::vector<Choice> choices_;  // [first stage][last stage]
};

}  // namespace

Schedule least_memory_schedule(const ChainCost& cost) {
  const LeastMemory least(cost);
  Schedule schedule;
  least.append(schedule, 0, least.last());
  return schedule;
}

}  // namespace mylos
