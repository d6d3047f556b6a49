// The learning rate as a function of the number of updates so far (skipped steps do not count).
//
// Warm-up: lr · (u + 1) / (warmup + 1) for u < warmup. Then, with t = (u - warmup) / (steps - warmup) in [0,
// 1]: constant lr; step: lr · factor^⌊(u - warmup) / step_size⌋; linear: lr + (final_lr - lr) · t; cosine:
// final_lr + (lr - final_lr) · (1 + cos πt) / 2 (Loshchilov, Hutter, arXiv 1608.03983, one cycle).
#pragma once

#include <Kokkos_Core.hpp>

#include "mylos/optim/options.hpp"

namespace mylos {

struct LearningRate {
  ScheduleType type = ScheduleType::constant;
  double lr = 0;
  double final_lr = 0;
  double factor = 1;
  std::int64_t warmup = 0;
  std::int64_t steps = 1;
  std::int64_t step_size = 1;

  /// The rate of the update after `updates` others.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double at(std::int64_t updates) const {
    if (updates < warmup) return lr * static_cast<double>(updates + 1) / static_cast<double>(warmup + 1);
    const std::int64_t past = updates - warmup;
    const std::int64_t length = steps > warmup ? steps - warmup : 1;
    const double progress = past < length ? static_cast<double>(past) / static_cast<double>(length) : 1.0;
    switch (type) {
      case ScheduleType::step:
        return lr * Kokkos::pow(factor, static_cast<double>(past / step_size));
      case ScheduleType::linear:
        return lr + (final_lr - lr) * progress;
      case ScheduleType::cosine:
        return final_lr + (lr - final_lr) * 0.5 * (1.0 + Kokkos::cos(Kokkos::numbers::pi * progress));
      case ScheduleType::constant:
        break;
    }
    return lr;
  }
};

/// `run_steps`: what schedule.steps = 0 stands for.
[[nodiscard]] inline LearningRate learning_rate(const OptimizerOptions& optimizer,
                                                const ScheduleOptions& schedule, std::int64_t run_steps) {
  LearningRate rate;
  rate.type = schedule.type;
  rate.lr = optimizer.lr;
  rate.final_lr = schedule.final_lr;
  rate.factor = schedule.factor;
  rate.warmup = schedule.warmup;
  rate.steps = schedule.steps > 0 ? schedule.steps : run_steps;
  rate.step_size = schedule.step_size > 0 ? schedule.step_size : 1;
  return rate;
}

}  // namespace mylos
