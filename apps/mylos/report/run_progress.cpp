#include "run_progress.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/io/files/folder_lock.hpp"

namespace mylos::app {
namespace {

std::string next_action(const std::string& folder) {
  const auto files = list_checkpoints(folder);
  if (files.empty()) return "start it again: it has no checkpoint yet";
  return fmt::format("resume with --restart latest; its newest checkpoint is of step {}", files.back().step);
}

}  // namespace

std::string worker_in(const std::string& folder) {
  FolderLock lock(folder);
  try {
    if (lock.try_to_take(false) == FolderLock::Attempt::held) return printable(lock.holder().name, 300);
  } catch (const Error&) {  // a lock that may not be read
  }
  return {};
}

RunProgressReport progress_of(const std::string& folder, const std::string& outcome) {
  using enum RunProgress;
  const std::string worker = worker_in(folder);
  // A run writes its summary last, and the next start removes it first.
  if (outcome == "done") return {done, "the run reached its end"};
  if (!worker.empty()) return {running, fmt::format("{} works on it", worker)};
  std::error_code failure;
  if (outcome == "stopped" || std::filesystem::exists(folder + "/requeue", failure))
    return {stopped, "it was asked to stop before its end: " + next_action(folder)};
  return {unfinished,
          "it left no summary and no process works on it: it failed, was killed, or its machine went down; " +
              next_action(folder)};
}

RunProgressReport with_end_event(RunProgressReport progress, const ordered_json& events) {
  if (!events.is_object() || events["rows"].empty()) return progress;
  const ordered_json& last = events["rows"].back();
  const std::string kind = text_member(last, "kind");
  const std::string text = text_member(last, "text");
  using enum RunProgress;
  if (progress.progress == unfinished && kind == "divergence") return {diverged, "the run " + text};
  if (progress.progress == done && kind == "early_stop") return {done, "the run " + text};
  return progress;
}

const char* name_of(RunProgress progress) {
  switch (progress) {
    case RunProgress::done:
      return "done";
    case RunProgress::running:
      return "running";
    case RunProgress::stopped:
      return "stopped";
    case RunProgress::diverged:
      return "diverged";
    case RunProgress::unfinished:
      break;
  }
  return "unfinished";
}

}  // namespace mylos::app
