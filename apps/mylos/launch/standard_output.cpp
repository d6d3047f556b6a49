#include "launch/standard_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"

namespace mylos::app {
namespace {

constexpr int usual_columns = 80;

bool has_launcher() {
  return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

/// The standard output of the launcher, this process' parent.
std::string launchers_output() {
  return fmt::format("/proc/{}/fd/1", getppid());
}

/// Open MPI always gives ranks a pseudo-terminal as standard output, so the launcher's standard output is
/// checked.
bool writes_to_terminal() {
  if (isatty(STDOUT_FILENO) == 0) return false;
  if (!has_launcher()) return true;
  std::error_code failure;
  const auto target = std::filesystem::read_symlink(launchers_output(), failure).string();
  return target.starts_with("/dev/pts/") || target.starts_with("/dev/tty");
}

int terminal_columns() {
  const int terminal = has_launcher()
                           ? open(launchers_output().c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
                           : STDOUT_FILENO;
  winsize size{};
  const bool known = terminal >= 0 && ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (has_launcher() && terminal >= 0) close(terminal);
  return known ? size.ws_col : usual_columns;
}

/// True if mpirun's standard output is a pipe without a reader. mpirun still accepts the ranks' output, but
/// after some SIGPIPEs it ends the ranks.
bool launchers_reader_has_gone() {
  if (!has_launcher()) return false;
  std::string name;
  std::ifstream(fmt::format("/proc/{}/comm", getppid())) >> name;
  // Not its daemon on another node: the ranks' output does not go to the daemon's standard output.
  if (name != "mpirun" && name != "mpiexec" && name != "orterun" && name != "prterun") return false;
  const std::string output = launchers_output();
  struct stat about {};
  if (stat(output.c_str(), &about) != 0 || !S_ISFIFO(about.st_mode)) return false;
  const int pipe = open(output.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (pipe < 0) return errno == ENXIO;  // of a named one: fifo(7)
  pollfd state{.fd = pipe, .events = 0, .revents = 0};
  const bool gone = poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
  close(pipe);
  return gone;
}

/// Bypasses stdio, which would keep unwritten output and fail again at the end.
class RunLog {
 public:
  void write(std::string_view text) {
    const int failure = launchers_reader_has_gone() ? EPIPE : write_all(text);
    if (failure == 0 || has_failed_) return;
    has_failed_ = true;
    print_error(
        fmt::format("mylos: warning: standard output cannot be written: {}; the run continues, and "
                    "history.csv in its folder has every step",
                    std::strerror(failure)));
  }

 private:
  /// The error's number, or 0.
  static int write_all(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) {  // another program has made the terminal or pipe non-blocking
        pollfd room{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
        poll(&room, 1, -1);
        continue;
      }
      if (count < 0) return errno;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
  }

  bool has_failed_ = false;
};

}  // namespace

Output standard_output(int rank) {
  Output output;
  if (rank != 0) return output;
  output.line = [](const std::string& text) {
    std::fwrite((text + "\n").data(), 1, text.size() + 1, stdout);
    flush_standard_output();
  };
  return output;
}

void flush_standard_output() {
  if (std::fflush(stdout) != 0)
    fail_run(errors::cannot_write, "standard output cannot be written: {}", std::strerror(errno));
  if (std::ferror(stdout) != 0)
    fail_run(errors::cannot_write, "standard output could not be written in full");
}

Output run_log(int rank) {
  std::signal(SIGPIPE, SIG_IGN);  // on all ranks: it may come from standard error too
  Output output;
  if (rank != 0) return output;
  const auto log = std::make_shared<RunLog>();
  output.line = [log](const std::string& text) { log->write(text + "\n"); };
  output.live = [log](const std::string& text) { log->write("\r\033[K" + text); };
  output.is_terminal = writes_to_terminal();
  output.columns = terminal_columns;
  return output;
}

void print_error(const std::string& line) {
  std::fwrite((line + "\n").data(), 1, line.size() + 1, stderr);
}

}  // namespace mylos::app
