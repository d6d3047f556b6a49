// The learning-rate schedules: the learning rate as a function of the number u of updates so far (skipped
// steps do not count).
//
// Warm-up: lr · (u + 1) / (warmup + 1) for u < warmup. Then, with p = u - warmup updates past it, n = steps -
// warmup of them in all, and t = p / n in [0, 1]:
//
//   constant         lr
//   step             lr · factor^⌊p / step_size⌋
//   multistep        lr · factor^(milestones that are at most u)
//   exponential      lr · factor^(p / step_size)
//   linear           lr + (final_lr - lr) · t
//   polynomial       final_lr + (lr - final_lr) · (1 - t)^power
//   cosine           final_lr + (lr - final_lr) · (1 + cos πt) / 2   (Loshchilov, Hutter, arXiv 1608.03983)
//   cosine_restarts  cosine with t = q / l at update q of a cycle of l updates; the first cycle has
//                    l = period, every other one `growth` times the one before   (the same paper, SGDR)
//   one_cycle        half a cosine from start_factor · lr to lr over the first rise_share · n updates, then
//                    half a cosine to final_lr over the others    (Smith, Topin, arXiv 1708.07120)
//   wsd              lr; over the last decay_share · steps updates, of which the fraction t' is past,
//                    final_lr + (lr - final_lr) · (1 - t')^power  (Hu et al., MiniCPM, arXiv 2404.06395)
//
// one_cycle counts as PyTorch's OneCycleLR does: the last update of the rise has lr, and the last update of
// all has final_lr. The other schedules reach their end with the first update after `steps`. The phases of
// one_cycle and wsd are fractions of the updates and may begin and end between two of them.
#pragma once

#include <cstdint>

#include "mylos/base/kokkos_names.hpp"
#include "mylos/optim/options.hpp"

namespace mylos {

struct LearningRate {
  ScheduleType type = ScheduleType::constant;
  double lr = 0;
  double final_lr = 0;
  double factor = 1;
  double power = 1;
  double start_lr = 0;  // one_cycle
  double rise = 0;      // one_cycle: updates of the rise, possibly fractional
  std::int64_t warmup = 0;
  std::int64_t steps = 1;
  std::int64_t step_size = 1;
  std::int64_t period = 1;
  std::int64_t growth = 1;
  double decay = 1;  // wsd: updates in which the rate falls, possibly fractional
  std::int64_t milestone_count = 0;
  std::int32_t milestones[max_milestones] = {};

  /// Returns the rate of the update after `updates` others.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double at(std::int64_t updates) const {
    if (updates < warmup) return lr * static_cast<double>(updates + 1) / static_cast<double>(warmup + 1);
    const std::int64_t past = updates - warmup;
    const std::int64_t length = steps > warmup ? steps - warmup : 1;
    switch (type) {
      case ScheduleType::step:
        return lr * Kokkos::pow(factor, static_cast<double>(past / step_size));
      case ScheduleType::multistep:
        return lr * Kokkos::pow(factor, static_cast<double>(milestones_until(updates)));
      case ScheduleType::exponential:
        return lr * Kokkos::pow(factor, static_cast<double>(past) / static_cast<double>(step_size));
      case ScheduleType::linear:
        return lr + (final_lr - lr) * share(past, length);
      case ScheduleType::polynomial:
        return along_power(share(past, length));
      case ScheduleType::cosine:
        return along_cosine(lr, final_lr, share(past, length));
      case ScheduleType::cosine_restarts:
        return along_cosine(lr, final_lr, share_of_cycle(past));
      case ScheduleType::one_cycle:
        return in_one_cycle(static_cast<double>(past), static_cast<double>(length));
      case ScheduleType::wsd:
        return along_power(share(static_cast<double>(past - length) + decay, decay));
      case ScheduleType::constant:
        break;
    }
    return lr;
  }

 private:
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static double share(double past, double length) {
    if (past < 0) return 0;
    return past < length ? past / length : 1.0;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static double share(std::int64_t past, std::int64_t length) {
    return share(static_cast<double>(past), static_cast<double>(length));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static double along_cosine(double from, double to, double share) {
    return to + (from - to) * 0.5 * (1.0 + Kokkos::cos(Kokkos::numbers::pi * share));
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double along_power(double share) const {
    return final_lr + (lr - final_lr) * Kokkos::pow(1.0 - share, power);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t milestones_until(std::int64_t updates) const {
    std::int64_t count = 0;
    while (count < milestone_count && milestones[count] <= updates) ++count;
    return count;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double share_of_cycle(std::int64_t past) const {
    if (growth == 1) return share(past % period, period);
    std::int64_t cycle = period;
    while (past >= cycle) {
      past -= cycle;
      if (past < cycle) return share(past, cycle * growth);
      cycle *= growth;
    }
    return share(past, cycle);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double in_one_cycle(double past, double length) const {
    const double peak = rise - 1;
    const double last = length - 1;
    if (past <= peak) return along_cosine(start_lr, lr, peak > 0 ? past / peak : 1.0);
    return along_cosine(lr, final_lr, past < last ? (past - peak) / (last - peak) : 1.0);
  }
};

/// Returns whether the schedule is stretched when the run is made longer.
[[nodiscard]] constexpr bool has_end(ScheduleType type) {
  return type == ScheduleType::linear || type == ScheduleType::polynomial || type == ScheduleType::cosine ||
         type == ScheduleType::one_cycle || type == ScheduleType::wsd;
}

/// Returns the learning rate of these options. `run_steps` replaces schedule.steps if that is 0.
[[nodiscard]] LearningRate learning_rate(const OptimizerOptions& optimizer, const ScheduleOptions& schedule,
                                         std::int64_t run_steps);

}  // namespace mylos
