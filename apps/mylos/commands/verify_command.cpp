// mylos info FILE --verify: checks an untrusted file in a separate process.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/open_model.hpp"
#include "launch/child_process.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/file/verify.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos::app {
namespace {

/// Chooses the file by its name, because this process does not read untrusted files.
std::string chosen_file(const NamedCheckpoint& checkpoint) {
  const std::string& path = checkpoint.path;
  if (checkpoint.best) return best_file(path);
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return path;
  const std::vector<CheckpointFile> files = list_checkpoints(run_folder(path));
  if (files.empty())
    fail_input(errors::no_checkpoint, "{}: is a folder with no checkpoint in checkpoints/", path);
  return files.back().path;
}

}  // namespace

ExitCode verify_command(const NamedCheckpoint& checkpoint) {
  RankGroup& ranks = ranks_of_start();
  run_on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    std::string text;
    read_in_child(verify_child_argument, chosen_file(checkpoint),
                  [&](std::string_view piece) { text += piece; });
    standard_output(0).line(text);
  });
  return ExitCode::done;
}

void verify_as_child(const std::string& file) {
  const VerifiedCheckpoint sum = verify_contents(file);
  fmt::print("{}: valid: digest, and CRC-32 of {} datasets ({}); step {}", file, sum.datasets,
             format_bytes(sum.bytes), sum.step);
}

}  // namespace mylos::app
