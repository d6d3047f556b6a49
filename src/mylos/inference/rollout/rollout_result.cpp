#include <cmath>

#include "mylos/inference/rollout/rollout.hpp"
#include "mylos/inference/scores/known_mean.hpp"

namespace mylos {

std::int64_t RolloutResult::first_not_finite(std::int64_t member) const {
  for (std::int64_t step = 1; step <= steps; ++step)
    if (!std::isfinite(at(member, step).energy)) return step;
  return 0;
}

MemberStep RolloutResult::mean(std::int64_t step) const {
  KnownMean network[3];
  KnownMean persistence[3];
  KnownMean energy;
  KnownMean drift;
  KnownMean truth_energy;
  std::int64_t compared = 0;
  for (std::int64_t member = 0; member < members; ++member) {
    const MemberStep& one = at(member, step);
    energy.add(one.energy);
    drift.add(one.energy_drift);
    if (one.compared == 0) continue;
    ++compared;
    if (!std::isnan(one.truth_energy)) truth_energy.add(one.truth_energy);
    const auto add = [](KnownMean(&to)[3], const FieldErrors& errors) {
      to[0].add(errors.relative_l2);
      to[1].add(errors.nrmse);
      to[2].add(errors.correlation);
    };
    add(network, one.network);
    add(persistence, one.persistence);
  }
  const auto errors = [](const KnownMean(&of)[3]) {
    return FieldErrors{of[0].value(), of[1].value(), of[2].value()};
  };
  return {errors(network), errors(persistence),  energy.value(),
          drift.value(),   truth_energy.value(), compared};
}

std::int64_t RolloutResult::compared_steps() const {
  std::int64_t count = 0;
  for (std::int64_t step = 1; step <= steps; ++step) count += mean(step).compared > 0 ? 1 : 0;
  return count;
}

double RolloutResult::mean_nrmse() const {
  double sum = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const MemberStep of_members = mean(step);
    if (of_members.compared > 0) sum += of_members.network.nrmse;
  }
  return sum / static_cast<double>(compared_steps());
}

}  // namespace mylos
