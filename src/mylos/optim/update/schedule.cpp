#include "mylos/optim/update/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace mylos {

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
  rate.decay =
      std::max<std::int64_t>(std::llround(schedule.decay_share * static_cast<double>(rate.steps)), 1);
  rate.milestone_count = static_cast<std::int64_t>(std::min(schedule.milestones.size(), max_milestones));
  std::transform(schedule.milestones.begin(), schedule.milestones.begin() + rate.milestone_count,
                 rate.milestones, [](std::int64_t at) { return static_cast<std::int32_t>(at); });
  return rate;
}

}  // namespace mylos
