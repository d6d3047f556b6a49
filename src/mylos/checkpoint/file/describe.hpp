// What `mylos info FILE` prints about a checkpoint.
#pragma once

#include <string>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// True if the file begins as a checkpoint does; cheap, and no promise that it is whole.
[[nodiscard]] bool looks_like_checkpoint(const std::string& path);

/// A text of some lines: header, parameters with shapes and bytes, the other groups with the values of their
/// scalars, the deck. Throws Error (bad_input) if the file is not a whole checkpoint.
[[nodiscard]] std::string describe_checkpoint(RankGroup& ranks, const std::string& path);

}  // namespace mylos
