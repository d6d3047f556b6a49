// The members of a rollout, by the numbers of a command line, and what they need of their file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/inference/rollout/stored_trajectories.hpp"

namespace mylos::app {

/// Reads "all", or numbers and ranges below `end`, separated by commas: "3", "0:8", "0,4:6". Throws Error
/// (bad_input). `option` and `of` are for messages: "--sample", "samples of start.h5".
[[nodiscard]] std::vector<std::int64_t> numbers_of(const std::string& text, std::int64_t end,
                                                   const std::string& option, const std::string& of);

/// Returns a member for each of these samples and first levels. Throws Error (bad_input) if the file lacks
/// levels that a rollout of `steps` steps reads.
[[nodiscard]] std::vector<RolloutMember> rollout_members(const StoredLevels& levels,
                                                         const LevelLayout& layout,
                                                         const std::string& samples,
                                                         const std::string& starts, std::int64_t steps);

}  // namespace mylos::app
