#include "mylos/optim/update/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mylos {
namespace {

/// Returns the updates that a fraction of `steps` is: 0.07 of 100 are 7, without the error of the product.
double part_of(std::int64_t steps, double fraction) {
  const double exact = fraction * static_cast<double>(steps);
  const double whole = std::nearbyint(exact);
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
  return std::abs(exact - whole) <= rounding * whole ? whole : exact;
}

}  // namespace

LearningRate learning_rate(const OptimizerOptions& optimizer, const ScheduleOptions& schedule,
                           std::int64_t run_steps) {
  LearningRate rate;
  rate.type = schedule.type;
  rate.lr = optimizer.lr;
  rate.final_lr = schedule.final_lr;
  rate.factor = schedule.factor;
  rate.power = schedule.power;
  rate.start_lr = schedule.start_factor * optimizer.lr;
  rate.warmup = schedule.warmup;
  rate.steps = schedule.steps > 0 ? schedule.steps : run_steps;
  rate.rise = schedule.rise_share * static_cast<double>(std::max<std::int64_t>(rate.steps - rate.warmup, 1));
  rate.step_size = std::max<std::int64_t>(schedule.step_size, 1);
  rate.period = std::max<std::int64_t>(schedule.period, 1);
  rate.growth = schedule.growth;
  rate.decay = part_of(rate.steps, schedule.decay_share);
  rate.milestone_count = static_cast<std::int64_t>(std::min(schedule.milestones.size(), max_milestones));
  std::transform(schedule.milestones.begin(), schedule.milestones.begin() + rate.milestone_count,
                 rate.milestones, [](std::int64_t at) { return static_cast<std::int32_t>(at); });
  return rate;
}

}  // namespace mylos
