// The output of `mylos info FILE` for a checkpoint or model file.
#pragma once

#include <string>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Returns true if the file starts like a checkpoint, or like a model file, which CheckpointReader refuses by
/// name. This is cheap, and does not check that the file is complete.
[[nodiscard]] bool looks_like_checkpoint(const std::string& path);

/// Returns a text of several lines: header, parameters with shapes and bytes, the other groups with the
/// values of their scalars, and the deck. Throws Error (bad_input) if the file is not complete, or of
/// neither kind.
[[nodiscard]] std::string describe_checkpoint(RankGroup& ranks, const std::string& path);

}  // namespace mylos
