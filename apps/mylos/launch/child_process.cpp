#include "launch/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/machine.hpp"

namespace mylos::app {
namespace {

// In addition to the program's own mappings; HDF5's caches and a piece of 4 MiB need far less.
constexpr rlim_t memory_room = rlim_t{512} << 20;
// Processor time: enough for a start and for a reader far slower than any disk.
constexpr rlim_t seconds_to_start = 30;
constexpr std::uintmax_t slowest_bytes_per_s = 20'000'000;

// A failing process writes this byte and its message.
constexpr char before_message = '\0';
constexpr std::size_t max_message_bytes = 4096;

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

struct ChildEnd {
  int status = 0;
  std::string message;  // of one that failed
};

void keep_message(std::string& message, std::string_view piece) {
  if (const auto start = piece.rfind(before_message); start != std::string_view::npos) {
    message.assign(1, before_message);
    piece.remove_prefix(start + 1);
  }
  if (!message.empty())
    message += piece.substr(0, max_message_bytes - std::min(max_message_bytes, message.size()));
}

ChildEnd run_child(const std::string& mode, const std::string& file,
                   const std::function<void(std::string_view)>& take) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    fail_run(errors::system_failed, "a pipe cannot be opened: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  // HDF5 prints its own messages about damaged files.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "/proc/self/exe";
  std::string mode_argument = mode;
  std::string path = file;
  std::array<char*, 4> arguments{program.data(), mode_argument.data(), path.data(), nullptr};
  pid_t child = 0;
  const int code = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ChildEnd end;
  std::array<char, 65536> buffer;
  for (ssize_t count = 0; code == 0 && (count = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(count));
    keep_message(end.message, piece);
    take(piece);
  }
  close(ends[0]);
  if (code != 0)
    fail_run(errors::system_failed, "the process that reads {} cannot be started: {}", file,
             std::strerror(code));
  while (waitpid(child, &end.status, 0) < 0 && errno == EINTR) {
  }
  return end;
}

int do_work(const std::string& mode, const std::string& file) {
  if (mode == verify_child_argument) {
    verify_as_child(file);
  } else {
    history_as_child(file);
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace

void read_in_child(const std::string& mode, const std::string& file,
                   const std::function<void(std::string_view)>& take) {
  const ChildEnd end = run_child(mode, file, take);
  if (WIFSIGNALED(end.status)) {
    fail_input(errors::damaged, "{}: must not be opened: the process that read it was ended by \"{}\"", file,
               strsignal(WTERMSIG(end.status)));
  }
  if (WEXITSTATUS(end.status) == static_cast<int>(ExitCode::done)) return;
  const std::string message =
      end.message.empty() ? file + ": cannot be read [cannot-read]" : end.message.substr(1);
  const bool is_input = WEXITSTATUS(end.status) == static_cast<int>(ExitCode::bad_input);
  throw Error::of_text(is_input ? ExitCode::bad_input : ExitCode::failed, message);
}

std::optional<int> work_as_child(int argument_count, char** arguments) {
  if (argument_count != 3) return std::nullopt;
  const std::string mode = arguments[1];
  const std::string file = arguments[2];
  if (mode != verify_child_argument && mode != history_child_argument) return std::nullopt;
  take_limits(file);
  int code = 0;
  try {
    code = do_work(mode, file);
  } catch (const Error& error) {
    fmt::print("{}{}", before_message, error.what());
    code = static_cast<int>(error.code());
  } catch (const std::exception& error) {  // memory beyond the limit
    const Error of_file(ExitCode::bad_input, errors::damaged,
                        fmt::format("{}: cannot be read as a checkpoint: {}", file, error.what()));
    fmt::print("{}{}", before_message, of_file.what());
    code = static_cast<int>(of_file.code());
  }
  std::fflush(stdout);
  return code;
}

}  // namespace mylos::app
