// The lock of a run's folder: a start waits for the previous one. It chooses the checkpoint to resume from
// when no other process can write checkpoints any more.
#include <fmt/format.h>

#include <filesystem>
#include <thread>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

using Attempt = FolderLock::Attempt;
using Clock = std::chrono::steady_clock;

// For a run that was killed and may not have ended yet.
constexpr double patience_of_a_new_run_s = 5;

// After each round the ranks exchange their state, and requests to stop.
constexpr double longest_round_s = 0.5;

Attempt try_for_a_round(FolderLock& lock, bool make) {
  const auto start = Clock::now();
  Attempt attempt = lock.try_to_take(make);
  while (attempt == Attempt::held && seconds_since(start) < longest_round_s) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    attempt = lock.try_to_take(make);
  }
  return attempt;
}

[[noreturn]] void refuse_used_folder(const std::string& folder, const FolderLock::Holder& holder) {
  fail_input(errors::folder_in_use,
             "{}: {} works in this folder; wait for its end, or give another run.folder", folder,
             holder.name);
}

std::vector<std::string> names_of_checkpoints(const std::string& folder) {
  std::vector<std::string> names;
  for (const CheckpointFile& file : list_checkpoints(folder)) names.push_back(file.path);
  return names;
}

}  // namespace

/// For a check: what take_folder() would come to.
void RunStart::note_other_run() const {
  std::string works;  // on the first rank alone: locks of other ranks would conflict
  run_on_first(ranks(), [&] {
    FolderLock other(options().run.folder);
    if (other.try_to_take(false) != Attempt::held) return;
    const FolderLock::Holder holder = other.holder();
    if (request.restart.empty()) refuse_used_folder(options().run.folder, holder);
    works = holder.name;
  });
  if (!works.empty())
    line(fmt::format("{}: {} works in this folder: the run waits for it", options().run.folder, works));
}

/// A new folder has no lock. The lock is made once nothing prevents the start. If another run has written
/// checkpoints meanwhile, the choice is repeated.
void RunStart::choose() {
  const std::string& folder = options().run.folder;
  if (request.earlier) {
    lock = std::move(request.earlier->lock);
    return find_start();
  }
  if (request.restart.empty()) require_unused_folder(ranks(), folder);  // fails without waiting
  if (only_checks) {
    note_other_run();
    return find_start();
  }
  const bool is_ours = take_folder(false);
  std::vector<std::string> before;
  if (!is_ours) run_on_first(ranks(), [&] { before = names_of_checkpoints(folder); });
  find_start();
  if (is_ours) return;
  take_folder(true);
  char has_changed = 0;
  run_on_first(ranks(), [&] { has_changed = names_of_checkpoints(folder) != before ? 1 : 0; });
  ranks().broadcast(&has_changed, sizeof has_changed, 0);
  if (has_changed != 0) find_start();
}

/// Returns false if the folder has no lock and none is to be made. A restart waits for a working run as long
/// as ranks wait for each other (communication.timeout), and for a run that is ending as long as that takes.
bool RunStart::take_folder(bool make) {
  RankGroup& all = ranks();
  const std::string& folder = options().run.folder;
  const bool restarts = !request.restart.empty();
  const double patience_s = restarts ? options().communication.timeout_s : patience_of_a_new_run_s;
  StopSources sources = request.stop;
  sources.file.clear();  // that file is meant for the other run
  sources.walltime_s = static_cast<double>(options().run.walltime_s);
  StopRequests asked(std::move(sources));
  if (all.rank() == 0 && !lock) lock = std::make_unique<FolderLock>(folder);
  std::string waits;  // the last message
  auto since = Clock::now();
  for (;;) {
    Attempt attempt = Attempt::taken;
    FolderLock::Holder holder;
    run_on_first(all, [&] {
      attempt = try_for_a_round(*lock, make);
      if (attempt != Attempt::held) return;
      holder = lock->holder();
      if ((!restarts || !holder.is_ending) && seconds_since(since) > patience_s)
        refuse_used_folder(folder, holder);
    });
    all.broadcast(&attempt, sizeof attempt, 0);
    if (attempt != Attempt::held) {
      if (lock && attempt == Attempt::taken) lock->replace_dead_holder();
      if (!waits.empty()) {  // the previous run has left it, not this start
        std::error_code failure;
        std::filesystem::remove(folder + "/requeue", failure);
      }
      return attempt == Attempt::taken;
    }
    run_on_all(all, [&] {
      if (!asked.due(0)) return;
      throw Error(ExitCode::requeue, errors::stopped,
                  fmt::format("{}: asked to stop by {} while it waited for the run that "
                              "works in this folder",
                              folder, asked.reason()));
    });
    if (all.rank() != 0) continue;
    std::string now = holder.is_ending
                          ? fmt::format("waiting for {}, which is ending in {}", holder.name, folder)
                          : fmt::format("waiting up to {} for {}, which works in {}",
                                        format_duration(patience_s), holder.name, folder);
    if (now == waits) continue;
    line(now);
    waits = std::move(now);
    since = Clock::now();
  }
}

}  // namespace mylos
