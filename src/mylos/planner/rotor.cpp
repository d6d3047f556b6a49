#include "mylos/planner/rotor.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace mylos {

struct StageVariant {
  std::size_t kept = 0;                // x_{i+1} and what the variant saves
  std::size_t backward_workspace = 0;  // β_iv
  double time = 0;                     // f_i + b_i + r_iv
};

/// The chain as the recurrences see it: stages 0 … last, of which the last is the loss, which runs once,
/// forward and backward in one operation. Bytes are exact.
struct Stage {
  std::vector<std::size_t> input_beside;  // of x_i what x_q, q < i, does not hold anyway: by q
  std::size_t input_gradient = 0;         // what backward writes: δ_i, the first block none; of a skip
  std::size_t output = 0;                 // x_{i+1} without what is carried past it
  std::size_t output_gradient = 0;        // δ_{i+1} with it
  std::size_t forward_workspace = 0;
  double forward_time = 0;
  std::vector<StageVariant> variants;
};

/// How segment (i, k) runs: the stages i … k with x_i in memory, which does not count, and δ_{k+1}, which
/// does.
struct SegmentChoice {
  std::size_t stop = 0;     // where the pass that comes back ends; i: stage i keeps a variant
  std::size_t variant = 0;  // that it keeps
  std::size_t left = 0;     // slots for the segment that runs next
};

namespace {

/// Bytes of x_boundary that are not those of x_q, q < boundary, too: its own, and of what is carried past it
/// what was not carried past x_q.
std::size_t bytes_beside(const ChainCost& cost, const Skips& skips, std::size_t boundary, std::size_t q) {
  std::size_t bytes = cost.boundary_bytes(boundary);
  for (const std::size_t carried : skips.carried(boundary)) {
    if (carried > q) bytes += cost.boundary_bytes(carried);
  }
  return bytes;
}

std::size_t gradient_bytes(const ChainCost& cost, const Skips& skips, std::size_t boundary) {
  return bytes_beside(cost, skips, boundary, 0);  // the chain's input has no gradient
}

std::vector<Stage> stages_of(const ChainCost& cost) {
  const Skips skips = cost.skips();
  std::vector<Stage> stages;
  for (std::size_t i = 0; i <= cost.blocks.size(); ++i) {
    Stage stage;
    for (std::size_t q = 0; q < i; ++q) stage.input_beside.push_back(bytes_beside(cost, skips, i, q));
    stage.input_gradient = i == 0 ? 0 : cost.boundary_bytes(i);
    if (i == cost.blocks.size()) {
      stage.variants.push_back({0, cost.loss_workspace, cost.loss_time});
    } else {
      const StageCost& block = cost.blocks[i];
      if (skips.starts_gradient(i)) stage.input_gradient += cost.boundary_bytes(block.skip);
      stage.output = block.output_bytes;
      stage.output_gradient = gradient_bytes(cost, skips, i + 1);
      stage.forward_workspace = block.forward_workspace;
      stage.forward_time = block.forward_time;
      for (const VariantCost& variant : block.variants) {
        stage.variants.push_back({block.output_bytes + variant.saved_bytes, variant.backward_workspace,
                                  block.forward_time + block.backward_time + variant.recompute_time});
      }
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

/// Bytes that segment (i, k) needs while stage i runs forward keeping `variant`, and while it runs backward.
std::size_t keep_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                       const StageVariant& variant) {
  const Stage& stage = stages[i];
  const std::size_t forward = stages[k].output_gradient + variant.kept + stage.forward_workspace;
  const std::size_t backward =
      stage.output_gradient + variant.kept + stage.input_gradient + variant.backward_workspace;
  return std::max(forward, backward);
}

/// Bytes that segment (i, k) needs while stage q >= i runs forward keeping nothing but x_i.
std::size_t pass_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k, std::size_t q) {
  const Stage& stage = stages[q];
  return stages[k].output_gradient + (q > i ? stage.input_beside[i] : 0) + stage.output +
         stage.forward_workspace;
}

/// The operations of segment (i, k) in `m` slots, as `choose` says for it and for what it falls into.
template <class Choose>
void append(Schedule& schedule, const std::vector<Stage>& stages, std::size_t i, std::size_t k, std::size_t m,
            const Choose& choose) {
  const SegmentChoice chosen = choose(i, k, m);
  if (chosen.stop > i) {
    schedule.push_back({OperationKind::forward, i, Keep::input});
    for (std::size_t q = i + 1; q < chosen.stop; ++q)
      schedule.push_back({OperationKind::forward, q, Keep::nothing});
    append(schedule, stages, chosen.stop, k, chosen.left, choose);
    append(schedule, stages, i, chosen.stop - 1, m, choose);
    return;
  }
  if (i + 1 == stages.size()) {
    schedule.push_back({OperationKind::loss, i});
    return;
  }
  schedule.push_back({OperationKind::forward, i, Keep::variant, chosen.variant});
  if (i < k) append(schedule, stages, i + 1, k, chosen.left, choose);
  schedule.push_back({OperationKind::backward, i, Keep::nothing, chosen.variant});
}

constexpr float never = std::numeric_limits<float>::infinity();

/// best[m] = min(best[m], time + first[m] + second[m]) for begin <= m < end; a loop that vectorises.
void take_better(float* best, float time, const float* first, const float* second, std::size_t begin,
                 std::size_t end) {
#pragma omp simd
  for (std::size_t m = begin; m < end; ++m) {
    const float candidate = time + first[m] + second[m];
    best[m] = candidate < best[m] ? candidate : best[m];
  }
}

/// The least first in the order of (bytes, time).
class LeastMemory {
 public:
  explicit LeastMemory(const ChainCost& cost)
      : stages_(stages_of(cost)), choices_(stages_.size() * stages_.size()) {
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      for (std::size_t i = k + 1; i-- > 0;) choose(i, k);
    }
  }

  [[nodiscard]] Schedule schedule() const {
    Schedule result;
    append(result, stages_, 0, stages_.size() - 1, 0,
           [this](std::size_t i, std::size_t k, std::size_t) { return at(i, k).choice; });
    return result;
  }

 private:
  struct Best {
    std::size_t bytes = static_cast<std::size_t>(-1);
    double time = 0;
    SegmentChoice choice = {};
  };

  [[nodiscard]] const Best& at(std::size_t i, std::size_t k) const {
    return choices_[i * stages_.size() + k];
  }

  void choose(std::size_t i, std::size_t k) {
    Best& best = choices_[i * stages_.size() + k];
    const auto consider = [&](std::size_t bytes, double time, std::size_t stop, std::size_t variant) {
      if (std::tie(bytes, time) < std::tie(best.bytes, best.time)) best = {bytes, time, {stop, variant}};
    };
    for (std::size_t v = 0; v < stages_[i].variants.size(); ++v) {
      const StageVariant& variant = stages_[i].variants[v];
      const Best rest = i < k ? at(i + 1, k) : Best{.bytes = 0};
      consider(std::max(keep_bytes(stages_, i, k, variant), variant.kept + rest.bytes),
               variant.time + rest.time, i, v);
    }
    double pass_time = 0;
    std::size_t pass = 0;
    for (std::size_t j = i + 1; j <= k; ++j) {
      pass_time += stages_[j - 1].forward_time;
      pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
      consider(std::max({pass, stages_[j].input_beside[i] + at(j, k).bytes, at(i, j - 1).bytes}),
               pass_time + at(j, k).time + at(i, j - 1).time, j, 0);
    }
  }

  std::vector<Stage> stages_;
  std::vector<Best> choices_;  // [first stage][last stage]
};

}  // namespace

Rotor::Rotor(const ChainCost& cost, std::size_t slot_bytes, std::size_t slots)
    : stages_(stages_of(cost)), count_(stages_.size()), slot_bytes_(slot_bytes), slots_(slots) {
  const std::size_t pairs = count_ * (count_ + 1) / 2;
  table_.resize(pairs * (slots_ + 1));
  ranges_.resize(pairs);
  ideal_.resize(pairs);
  // Column by column: C(j, k), read for every j > i, then stays in the processor's cache.
  for (std::size_t k = 0; k < count_; ++k) {
    for (std::size_t i = k + 1; i-- > 0;) fill(i, k);
  }
}

Rotor::~Rotor() = default;

void Rotor::fill(std::size_t i, std::size_t k) {
  const Stage& stage = stages_[i];
  Range& range = ranges_[pair(i, k)];
  const auto fastest = std::min_element(stage.variants.begin(), stage.variants.end(),
                                        [](const auto& a, const auto& b) { return a.time < b.time; });
  const float rest = i < k ? ideal_[pair(i + 1, k)] : 0.0f;
  ideal_[pair(i, k)] = static_cast<float>(fastest->time) + rest;
  range.enough = slots_for(keep_bytes(stages_, i, k, *fastest));
  if (i < k) {
    range.enough = std::max(range.enough, slots_for(fastest->kept) + ranges_[pair(i + 1, k)].enough);
  }

  float* best = row(i, k);
  const std::size_t end = std::min(range.enough, slots_ + 1);
  std::fill(best, best + end, never);
  std::fill(best + end, best + slots_ + 1, ideal_[pair(i, k)]);
  fill_keeping(i, k, end);
  fill_coming_back(i, k, end);
  range.least =
      static_cast<std::size_t>(std::find_if(best, best + end, [](float t) { return t < never; }) - best);
}

void Rotor::fill_keeping(std::size_t i, std::size_t k, std::size_t end) {
  float* best = row(i, k);
  for (const StageVariant& variant : stages_[i].variants) {
    const std::size_t kept = slots_for(variant.kept);
    const auto time = static_cast<float>(variant.time);
    const float* rest = i < k ? row(i + 1, k) : nullptr;
    for (std::size_t m = std::max(kept, slots_for(keep_bytes(stages_, i, k, variant))); m < end; ++m) {
      best[m] = std::min(best[m], rest == nullptr ? time : time + rest[m - kept]);
    }
  }
}

void Rotor::fill_coming_back(std::size_t i, std::size_t k, std::size_t end) {
  float* best = row(i, k);
  double pass_time = 0;
  std::size_t pass = 0;  // bytes
  for (std::size_t j = i + 1; j <= k; ++j) {
    pass_time += stages_[j - 1].forward_time;
    pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
    const std::size_t kept = slots_for(stages_[j].input_beside[i]);
    const std::size_t begin =
        std::max({slots_for(pass), kept + ranges_[pair(j, k)].least, ranges_[pair(i, j - 1)].least});
    if (begin >= end) continue;
    take_better(best + begin, static_cast<float>(pass_time), row(j, k) + (begin - kept),
                row(i, j - 1) + begin, 0, end - begin);
  }
}

float Rotor::time(std::size_t slots) const {
  return row(0, count_ - 1)[std::min(slots, slots_)];
}

std::optional<Schedule> Rotor::schedule(std::size_t slots) const {
  if (time(slots) == never) return std::nullopt;
  Schedule result;
  append(result, stages_, 0, count_ - 1, std::min(slots, slots_),
         [this](std::size_t i, std::size_t k, std::size_t m) { return choice(i, k, m); });
  return result;
}

/// Choices are not stored: of a segment on the way they are cheap to take again.
SegmentChoice Rotor::choice(std::size_t i, std::size_t k, std::size_t m) const {
  float best = never;
  SegmentChoice chosen{.stop = i};
  for (std::size_t v = 0; v < stages_[i].variants.size(); ++v) {
    const StageVariant& variant = stages_[i].variants[v];
    const std::size_t kept = slots_for(variant.kept);
    if (m < std::max(kept, slots_for(keep_bytes(stages_, i, k, variant)))) continue;
    const float time = static_cast<float>(variant.time) + (i < k ? row(i + 1, k)[m - kept] : 0.0f);
    if (time < best) {
      best = time;
      chosen = {.stop = i, .variant = v, .left = m - kept};
    }
  }
  double pass_time = 0;
  std::size_t pass = 0;
  for (std::size_t j = i + 1; j <= k; ++j) {
    pass_time += stages_[j - 1].forward_time;
    pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
    const std::size_t kept = slots_for(stages_[j].input_beside[i]);
    if (m < std::max(kept, slots_for(pass))) continue;
    const float time = static_cast<float>(pass_time) + row(j, k)[m - kept] + row(i, j - 1)[m];
    if (time < best) {
      best = time;
      chosen = {.stop = j, .left = m - kept};
    }
  }
  return chosen;
}

Schedule min_memory_schedule(const ChainCost& cost) {
  return LeastMemory(cost).schedule();
}

}  // namespace mylos
