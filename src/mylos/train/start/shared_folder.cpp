#include "mylos/train/start/shared_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

namespace fs = std::filesystem;

constexpr double longest_patience_s = 10;

/// Within the patience.
bool appears(const std::string& path, double patience_s) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    std::error_code failure;
    if (fs::exists(path, failure)) return true;
    if (seconds_since(start) > patience_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// What is there of the path already: itself, or the nearest folder above it.
fs::path nearest_part(const fs::path& folder) {
  std::error_code failure;
  fs::path nearest = folder;
  while (fs::symlink_status(nearest, failure).type() == fs::file_type::not_found) {
    const fs::path above = nearest.has_parent_path() ? nearest.parent_path() : fs::path(".");
    if (above == nearest) break;
    nearest = above;
  }
  return nearest;
}

void require_possible(const std::string& folder, bool is_written, const Places& places) {
  std::error_code failure;
  const fs::path nearest = nearest_part(folder);
  const std::string location = place_of(places, {"run.folder"});
  if (!fs::is_directory(nearest, failure)) {
    fail_input(failure ? errors::cannot_write : errors::not_a_folder,
               "{}run.folder: {} cannot be made: {}{}; give another run.folder", location, folder,
               nearest.string(), failure ? ": " + failure.message() : " is not a folder");
  }
  if (!is_written || ::access(nearest.c_str(), W_OK | X_OK) == 0) return;
  const int cause = errno;
  fail_run(errors::cannot_write, "{}{}: the run's folder cannot be made or written: {}: {}", location, folder,
           nearest == "." ? "the current folder" : nearest.string(), std::strerror(cause));
}

}  // namespace

void require_possible_folder(RankGroup& ranks, const std::string& folder, const Places& places) {
  run_on_first(ranks, [&] {
    require_possible(folder, true, places);
    require_possible(folder + "/checkpoints", false,
                     places);  // what is in it says more where it cannot be read
  });
}

void require_shared_folder(RankGroup& ranks, const std::string& folder) {
  if (ranks.size() == 1) return;
  std::error_code failure;
  const std::string sign =
      folder + "/seen-by-all-ranks-of-" + broadcast_text(ranks, std::to_string(getpid()));
  const std::string folder_of_root = broadcast_text(ranks, fs::current_path(failure).string());
  run_on_first(ranks, [&] { publish_text(sign, "for the other ranks to see\n"); });
  const bool seen = ranks.rank() == 0 || appears(sign, std::min(longest_patience_s, ranks.timeout_s() / 2));
  ranks.barrier();
  if (ranks.rank() == 0) fs::remove(sign, failure);
  run_on_all(ranks, [&] {
    if (seen) return;
    fail_input(errors::ranks_disagree,
               "run.folder = \"{}\" is not the folder that it is on rank 0: this rank runs in {}, rank 0 in "
               "{}; give the absolute path of a folder that all ranks see",
               folder, fs::current_path(failure).string(), folder_of_root);
  });
}

}  // namespace mylos
