#include "mylos/inference/ensemble/ensemble_calibration.hpp"

#include <algorithm>

#include "mylos/checkpoint/file/reader.hpp"

namespace mylos {

EnsembleCalibration read_ensemble_calibration(RankGroup& ranks, const std::vector<EnsembleMember>& members,
                                              Calibrated of) {
  if (members.empty()) return {};
  std::vector<std::optional<ConformalCalibration>> all;
  for (const EnsembleMember& member : members)
    all.push_back(read_calibration(CheckpointReader(ranks, member.path, ReadableKinds::all), of));
  const auto& first = all.front();
  if (first && first->members == std::ssize(members) && std::ranges::count(all, first) == std::ssize(all))
    return {.found = first};
  return {.found = {},
          .is_of_others = std::ranges::any_of(all, [](const auto& one) { return one.has_value(); })};
}

}  // namespace mylos
