// A run's folder has to be the same for all its ranks: on a file system that all nodes have, and under the
// same name wherever a rank was started.
#pragma once

#include <string>

#include "mylos/base/places.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// All ranks call this, before anything is made. Throws Error on all of them where the folder, or the one for
/// checkpoints in it, cannot be one: bad_input where something else is in its place, failed where nothing may
/// be written there.
void require_possible_folder(RankGroup& ranks, const std::string& folder, const Places& places);

/// All ranks call this, when rank 0 has made the folder. Throws Error (bad_input) on all of them, naming a
/// rank and the folder in which it was started, if that rank does not find there what rank 0 writes, after a
/// patience of 10 s, or half the ranks' timeout, for file systems that hear of it late.
void require_shared_folder(RankGroup& ranks, const std::string& folder);

}  // namespace mylos
