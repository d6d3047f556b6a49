// The checkpoints of a run: FOLDER/checkpoints/step-0000000500.h5 and which of them a restart takes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// The run's folder that the folder `path` is, or whose checkpoints folder it is.
[[nodiscard]] std::string run_folder(const std::string& path);

/// FOLDER/checkpoints/step-<10 digits>.h5
[[nodiscard]] std::string checkpoint_path(const std::string& folder, std::int64_t step);

struct CheckpointFile {
  std::int64_t step = 0;
  std::string path;
};
/// What FOLDER/checkpoints holds, valid or not, oldest first. Files half written (.tmp) do not count. Throws
/// Error (bad_input) where there is such a folder and it cannot be read.
[[nodiscard]] std::vector<CheckpointFile> list_checkpoints(const std::string& folder);

struct RestartChoice {
  std::optional<std::string> path;    // empty: start afresh ("auto" only)
  std::int64_t step = -1;             // of the file's name, where it was chosen from the folder
  std::vector<std::string> messages;  // what was skipped and why
};
/// All ranks call this. `restart` is "auto", "latest" or a file. "latest" takes the newest valid checkpoint
/// and throws Error (bad_input) if there is none; "auto" starts afresh then; a file must itself be valid. Of
/// a folder's files only those of steps below `below` count.
[[nodiscard]] RestartChoice find_checkpoint(RankGroup& ranks, const std::string& folder,
                                            const std::string& restart,
                                            std::int64_t below = std::numeric_limits<std::int64_t>::max());

/// All ranks call this before a run that does not restart. Throws Error (bad_input) if `folder` has
/// checkpoints.
void require_unused_folder(RankGroup& ranks, const std::string& folder);

/// All ranks call this at a restart from `step` (-1: afresh). Checkpoints after it move to
/// checkpoints/superseded/, half-written ones are removed, `latest` names what is left, and so does `best`.
/// Returns the names of those that moved (rank 0 only).
std::vector<std::string> set_aside_newer(RankGroup& ranks, const std::string& folder, std::int64_t step);

/// For this process alone: names the newest checkpoint in the text file FOLDER/checkpoints/latest.
void name_latest(const std::string& folder);
/// For this process alone: names the checkpoint of `step` in the text file FOLDER/checkpoints/best. False
/// where it is not there; `best` is as before then.
bool name_best(const std::string& folder, std::int64_t step);
/// For this process alone: `best` names none.
void forget_best(const std::string& folder);
/// What FOLDER/checkpoints/best names, where both are there.
[[nodiscard]] std::optional<CheckpointFile> best_checkpoint(const std::string& folder);
/// For this process alone: deletes what `options` do not keep, and what was left half written. What `best`
/// names stays.
void delete_old_checkpoints(const std::string& folder, const CheckpointOptions& options);

}  // namespace mylos
