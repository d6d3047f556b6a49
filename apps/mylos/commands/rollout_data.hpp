// RolloutData: the files that a rollout reads, opened and compared with each other and with the network.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/inference/scores/score_file.hpp"
#include "mylos/inference/stored/stored_network.hpp"

namespace mylos::app {

/// The data of a rollout on this rank.
struct RolloutData {
  std::shared_ptr<const StoredLevels> starts;
  std::shared_ptr<const StoredLevels> truth;  // null: none is given
  std::optional<StoredTrajectories> trajectories;
};

/// Opens the file that the rollout begins with. Throws Error (bad_input).
[[nodiscard]] std::shared_ptr<const StoredLevels> open_starts(const StoredNetwork& network,
                                                              const std::string& file);

/// Returns the shape of the samples on the grid of the file that the rollout starts from; empty if the
/// network does not read samples of that many axes and channels.
[[nodiscard]] std::vector<std::int64_t> shape_of_samples(const StoredNetwork& network,
                                                         const StoredLevels& starts);

/// Throws Error (bad_input) where files do not fit the network or each other.
[[nodiscard]] RolloutData open_data(const StoredNetwork& network, std::shared_ptr<const StoredLevels> starts,
                                    const RolloutArguments& arguments);

/// All ranks. Returns the climatology [points, outputs] that the command line names, on every rank: the mean
/// over all levels of the files, or of the training files; or the arrays as they are if they have no axis
/// "time". Rank 0 reads them. Throws Error (bad_input) on all ranks, also where they lie on another grid than
/// the starts. Empty: none is named.
[[nodiscard]] std::vector<float> read_climatology(RankGroup& ranks, const StoredNetwork& network,
                                                  const RolloutData& data, const RolloutArguments& arguments);

/// Returns what variables and lead times the measures of a rollout are of. Requires a truth.
[[nodiscard]] ScoreAxes score_axes(const StoredNetwork& network, const RolloutData& data,
                                   const RolloutArguments& arguments);

}  // namespace mylos::app
