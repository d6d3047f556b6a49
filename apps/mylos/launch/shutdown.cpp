#include "launch/shutdown.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>

namespace mylos::app {
namespace {

constexpr std::size_t exit_codes = 256;

using Handler = void (*)(int);

/// Calls only async-signal-safe functions.
template <std::size_t code>
void end_with(int signal) {
  constexpr std::string_view before = "mylos: warning: signal ";
  constexpr std::string_view after =
      " while libraries were shutting down; the command had done its work, and its exit code stands\n";
  const char digits[] = {static_cast<char>('0' + signal / 10 % 10), static_cast<char>('0' + signal % 10)};
  ssize_t written = ::write(STDERR_FILENO, before.data(), before.size());
  if (written > 0) written = ::write(STDERR_FILENO, digits, sizeof digits);
  if (written > 0) written = ::write(STDERR_FILENO, after.data(), after.size());
  _exit(static_cast<int>(code));
}

/// One function for each exit code, because a handler receives only its signal.
template <std::size_t... codes>
constexpr std::array<Handler, exit_codes> handlers_of(std::index_sequence<codes...> /*all*/) {
  return {end_with<codes>...};
}

constexpr std::array<Handler, exit_codes> handlers = handlers_of(std::make_index_sequence<exit_codes>());

}  // namespace

void keep_exit_code(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  struct sigaction action {};
  action.sa_handler = handlers[static_cast<std::size_t>(code) % exit_codes];
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace mylos::app
