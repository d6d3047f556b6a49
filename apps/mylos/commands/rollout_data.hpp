// RolloutData: the files that a rollout reads, opened and compared with each other and with the network.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/inference/stored/stored_network.hpp"

namespace mylos::app {

/// The data of a rollout on this rank.
struct RolloutData {
  std::shared_ptr<const StoredLevels> starts;
  std::shared_ptr<const StoredLevels> truth;  // null: none is given
  std::optional<StoredTrajectories> trajectories;
};

/// Throws Error (wrong_format) unless the network was trained on arrays, whose levels a rollout makes.
void require_levels(const StoredNetwork& network);

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

/// Returns the options of whole trajectories.
[[nodiscard]] ArrayOptions trajectory_options(const StoredNetwork& network);

/// Throws unless the fields of `other`, of the targets alone, are those of states and lie where the starts
/// do.
void require_same_fields(const StoredLevels& starts, const std::string& start, const StoredLevels& other,
                         const std::string& path, const ArrayOptions& options);

}  // namespace mylos::app
