// mylos info FILE --verify: a stranger's file is opened in a process of its own, with limits, so that
// whatever HDF5 does with it ends there.
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "mylos/base/units.hpp"
#include "mylos/checkpoint/folder.hpp"
#include "mylos/checkpoint/verify.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/comm/options.hpp"
#include "standard_output.hpp"
#include "trained_model.hpp"

namespace mylos::app {
namespace {

// Beside what the program itself maps: HDF5's caches and a piece of 4 MiB need far less.
constexpr rlim_t memory_room = rlim_t{512} << 20;
// Of processor time: a start, and a reader far slower than any disk.
constexpr rlim_t seconds_to_start = 30;
constexpr std::uintmax_t slowest_bytes_per_s = 20'000'000;

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(resource, &both);
}

rlim_t mapped_bytes() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

void take_limits(const std::string& file) {
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(file, failure);
  limit(RLIMIT_AS, mapped_bytes() + memory_room);
  limit(RLIMIT_CPU, seconds_to_start + static_cast<rlim_t>(failure ? 0 : bytes / slowest_bytes_per_s));
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
}

struct ChildResult {
  int status = 0;
  std::string text;
};

ChildResult run_child(const std::string& file) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_run("no pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  // HDF5 has its own words for files that confuse it.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "/proc/self/exe";
  std::string mode = verify_child_argument;
  std::string path = file;
  std::array<char*, 4> arguments{program.data(), mode.data(), path.data(), nullptr};
  pid_t child = 0;
  const int code = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ChildResult result;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; code == 0 && (count = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    result.text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (code != 0) fail_run("the checking process cannot be started: {}", std::strerror(code));
  while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

std::string verify_in_child(const std::string& file) {
  const ChildResult child = run_child(file);
  if (WIFSIGNALED(child.status)) {
    fail_input("{}: must not be opened: the process that read it was ended by \"{}\"", file,
               strsignal(WTERMSIG(child.status)));
  }
  if (WEXITSTATUS(child.status) == static_cast<int>(ExitCode::bad_input)) fail_input("{}", child.text);
  if (WEXITSTATUS(child.status) != 0) fail_run("{}", child.text);
  return child.text;
}

/// Chosen by its name: nothing of a stranger's files is read here.
std::string chosen_file(const NamedCheckpoint& checkpoint) {
  const std::string& path = checkpoint.path;
  if (checkpoint.best) return best_file(path);
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return path;
  const std::vector<CheckpointFile> files = list_checkpoints(run_folder(path));
  if (files.empty()) fail_input("{}: is a folder with no checkpoint in checkpoints/", path);
  return files.back().path;
}

}  // namespace

ExitCode verify_command(const NamedCheckpoint& checkpoint) {
  RankGroup ranks(MPI_COMM_WORLD, CommunicationOptions{}.timeout_s);
  run_on_all(ranks, [&] {
    if (ranks.rank() == 0) standard_output(0).line(verify_in_child(chosen_file(checkpoint)));
  });
  return ExitCode::done;
}

int verify_as_child(const std::string& file) {
  take_limits(file);
  try {
    const VerifiedCheckpoint sum = verify_contents(file);
    fmt::print("{}: valid: digest, and CRC-32 of {} datasets ({}); step {}", file, sum.datasets,
               format_bytes(sum.bytes), sum.step);
    return 0;
  } catch (const Error& error) {
    fmt::print("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {  // memory beyond the limit
    fmt::print("{}: is no checkpoint that can be read: {}", file, error.what());
    return static_cast<int>(ExitCode::bad_input);
  }
}

}  // namespace mylos::app
