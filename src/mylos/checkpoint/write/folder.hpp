// The checkpoints of a run, FOLDER/checkpoints/step-0000000500.h5, and the choice of one at a restart.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Returns the run's folder, given that folder or its checkpoints folder.
[[nodiscard]] std::string run_folder(const std::string& path);

/// Returns FOLDER/checkpoints/step-<10 digits>.h5.
[[nodiscard]] std::string checkpoint_path(const std::string& folder, std::int64_t step);

struct CheckpointFile {
  std::int64_t step = 0;
  std::string path;
};
/// Returns the files in FOLDER/checkpoints, valid or not, oldest first, without incomplete files (.tmp).
/// Throws Error (bad_input) if the folder exists and cannot be read.
[[nodiscard]] std::vector<CheckpointFile> list_checkpoints(const std::string& folder);

struct RestartChoice {
  std::optional<std::string> path;    // empty: start from scratch ("auto" only)
  std::int64_t step = -1;             // step in the file's name, if chosen from the folder
  std::vector<std::string> messages;  // skipped files, with the reason
};
/// Finds the checkpoint for a restart. All ranks call this. `restart` is "auto", "latest" or a file. "latest"
/// selects the newest valid checkpoint and throws Error (bad_input) if there is none; "auto" then starts from
/// scratch; a file must be valid. Of the folder's files only those of steps below `below` are considered.
[[nodiscard]] RestartChoice find_checkpoint(RankGroup& ranks, const std::string& folder,
                                            const std::string& restart,
                                            std::int64_t below = std::numeric_limits<std::int64_t>::max());

/// Throws `error`, of a checkpoint in `folder`, unless the file is damaged or of another run: one that cannot
/// be read may be intact, and a restart from an older one would lose the steps after it.
void require_damage(const Error& error, const std::string& folder);

/// Throws Error (bad_input) if `folder` has checkpoints. All ranks call this before a run that does not
/// restart.
void require_unused_folder(RankGroup& ranks, const std::string& folder);

/// Prepares the folder for a restart from `step` (-1: from scratch). All ranks call this. Newer checkpoints
/// are moved to checkpoints/superseded/, incomplete files are removed, and `latest` and `best` are updated.
/// Returns the names of the moved files (rank 0 only).
std::vector<std::string> set_aside_newer(RankGroup& ranks, const std::string& folder, std::int64_t step);

/// Writes the name of the newest checkpoint to the text file FOLDER/checkpoints/latest. Acts on this process
/// only.
void name_latest(const std::string& folder);
/// Writes the name of the checkpoint of `step` to the text file FOLDER/checkpoints/best. Acts on this process
/// only. Returns false if it does not exist; `best` is then unchanged.
bool name_best(const std::string& folder, std::int64_t step);
/// Removes `best`. Acts on this process only.
void forget_best(const std::string& folder);
/// Returns the checkpoint named by FOLDER/checkpoints/best, if both exist.
[[nodiscard]] std::optional<CheckpointFile> best_checkpoint(const std::string& folder);
/// Deletes the checkpoints that `options` do not keep, and incomplete files, but never the one named by
/// `best`. Acts on this process only.
void delete_old_checkpoints(const std::string& folder, const CheckpointOptions& options);

}  // namespace mylos
