#include "mylos/planner/rotor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace mylos {
namespace {

constexpr float never = std::numeric_limits<float>::infinity();

constexpr std::size_t slots_at_once = 64;

// A bound on the relative error of a sum of floats along a chain.
constexpr double rounding = 1e-3;

/// best[m] = min(best[m], time + first[m] + second[m]) for m < end. No value rises with m: where the last
/// candidate of some slots is not below the first of their best times, none of them is better.
void take_better(float* best, float time, const float* first, const float* second, std::size_t end) {
  for (std::size_t begin = 0; begin < end; begin += slots_at_once) {
    const std::size_t stop = std::min(begin + slots_at_once, end);
    if (time + first[stop - 1] + second[stop - 1] >= best[begin]) continue;
#pragma omp simd
    for (std::size_t m = begin; m < stop; ++m) {
      const float candidate = time + first[m] + second[m];
      best[m] = candidate < best[m] ? candidate : best[m];
    }
  }
}

}  // namespace

Rotor::Rotor(StageChain chain, std::size_t slot_bytes, std::size_t slots)
    : chain_(std::move(chain)), slot_bytes_(slot_bytes), slots_(slots) {
  table_.resize(segments_.kinds() * (slots_ + 1));
  ranges_.resize(segments_.kinds());
  // Column by column: C(j, k), read for every j > i, then stays in the processor's cache.
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    for (std::size_t i = k + 1; i-- > 0;) {
      if (segments_.is_example(i, k)) fill(i, k);
    }
  }
}

void Rotor::fill(std::size_t i, std::size_t k) {
  const Stage& stage = stages_[i];
  Range& own = ranges_[segments_.kind(i, k)];
  const auto fastest = std::min_element(stage.variants.begin(), stage.variants.end(),
                                        [](const auto& a, const auto& b) { return a.time < b.time; });
  own.ideal = static_cast<float>(fastest->time) + (i < k ? range(i + 1, k).ideal : 0.0f);
  own.enough = slots_for(keep_bytes(stages_, i, k, *fastest));
  if (i < k) own.enough = std::max(own.enough, slots_for(fastest->kept) + range(i + 1, k).enough);

  float* best = row(i, k);
  const std::size_t end = std::min(own.enough, slots_ + 1);
  std::fill(best, best + end, never);
  std::fill(best + end, best + slots_ + 1, own.ideal);
  fill_keeping(i, k, end);
  fill_coming_back(i, k, end);
  own.least =
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
  const double ideal = range(i, k).ideal * (1 - rounding);
  double pass_time = 0;
  std::size_t pass = 0;  // bytes
  for (std::size_t j = i + 1; j <= k; ++j) {
    pass_time += stages_[j - 1].forward_time;
    pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
    // Coming back takes at least the pass and the ideal time: from these slots on it is never faster.
    while (end > 0 && best[end - 1] <= pass_time + ideal) --end;
    const std::size_t kept = slots_for(stages_[j].input_beside(i));
    const std::size_t begin = std::max({slots_for(pass), kept + range(j, k).least, range(i, j - 1).least});
    if (begin >= end) continue;
    take_better(best + begin, static_cast<float>(pass_time), row(j, k) + (begin - kept),
                row(i, j - 1) + begin, end - begin);
  }
}

float Rotor::time(std::size_t slots) const {
  return row(0, stages_.size() - 1)[std::min(slots, slots_)];
}

std::optional<Schedule> Rotor::schedule(std::size_t slots) const {
  if (time(slots) == never) return std::nullopt;
  Schedule result;
  append_segment(result, stages_.size(), 0, stages_.size() - 1, std::min(slots, slots_),
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
  const double ideal = range(i, k).ideal * (1 - rounding);
  double pass_time = 0;
  std::size_t pass = 0;
  for (std::size_t j = i + 1; j <= k; ++j) {
    pass_time += stages_[j - 1].forward_time;
    if (pass_time + ideal >= best) break;
    pass = std::max(pass, pass_bytes(stages_, i, k, j - 1));
    const std::size_t kept = slots_for(stages_[j].input_beside(i));
    if (m < std::max(kept, slots_for(pass))) continue;
    const float time = static_cast<float>(pass_time) + row(j, k)[m - kept] + row(i, j - 1)[m];
    if (time < best) {
      best = time;
      chosen = {.stop = j, .left = m - kept};
    }
  }
  return chosen;
}

}  // namespace mylos
