#include "mylos/planner/rotor.hpp"

#include <algorithm>
#include <limits>

#include "stages.hpp"

namespace mylos {
namespace {

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
    const std::size_t kept = slots_for(stages_[j].input);
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
  append(result, 0, count_ - 1, std::min(slots, slots_));
  return result;
}

/// Follows the choices back. They are not stored: of a segment on the way they are cheap to take again.
void Rotor::append(Schedule& schedule, std::size_t i, std::size_t k, std::size_t m) const {
  float best = never;
  std::size_t best_variant = 0;
  for (std::size_t v = 0; v < stages_[i].variants.size(); ++v) {
    const StageVariant& variant = stages_[i].variants[v];
    const std::size_t kept = slots_for(variant.kept);
    if (m < std::max(kept, slots_for(keep_bytes(stages_, i, k, variant)))) continue;
    const float time = static_cast<float>(variant.time) + (i < k ? row(i + 1, k)[m - kept] : 0.0f);
    if (time < best) {
      best = time;
      best_variant = v;
    }
  }
  std::size_t best_stop = i;  // where the pass that comes back ends; i: there is none
  double pass_time = 0;
  std::size_t pass = 0;
  for (std::size_t j = i + 1; j <= k; ++j) {
    pass_time += stages_[j - 1].forward_time;
    pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
    const std::size_t kept = slots_for(stages_[j].input);
    if (m < std::max(kept, slots_for(pass))) continue;
    const float time = static_cast<float>(pass_time) + row(j, k)[m - kept] + row(i, j - 1)[m];
    if (time < best) {
      best = time;
      best_stop = j;
    }
  }

  if (best_stop > i) {
    append_pass(schedule, i, best_stop);
    append(schedule, best_stop, k, m - slots_for(stages_[best_stop].input));
    append(schedule, i, best_stop - 1, m);
    return;
  }
  append_forward(schedule, stages_, i, best_variant);
  if (i < k) append(schedule, i + 1, k, m - slots_for(stages_[i].variants[best_variant].kept));
  append_backward(schedule, stages_, i, best_variant);
}

}  // namespace mylos
