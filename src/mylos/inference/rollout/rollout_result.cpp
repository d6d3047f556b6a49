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
  for (std::int64_t member = 0; member < members; ++member) {
    const MemberStep& one = at(member, step);
    energy.add(one.energy);
    drift.add(one.energy_drift);
    if (std::isnan(one.truth_energy)) continue;
    truth_energy.add(one.truth_energy);
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
  return {errors(network), errors(persistence), energy.value(), drift.value(), truth_energy.value()};
}

std::int64_t RolloutResult::compared_steps() const {
  std::int64_t count = 0;
  for (std::int64_t step = 1; step <= steps; ++step) count += std::isnan(mean(step).truth_energy) ? 0 : 1;
  return count;
}

double RolloutResult::mean_nrmse() const {
  double sum = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const MemberStep of_members = mean(step);
    if (!std::isnan(of_members.truth_energy)) sum += of_members.network.nrmse;
  }
  return sum / static_cast<double>(compared_steps());
}

}  // namespace mylos
