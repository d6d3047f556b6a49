#include "launch/stop_signals.hpp"

#include <array>
#include <utility>

namespace mylos::app {
namespace {

constexpr std::array<std::pair<int, const char*>, 3> stopping{
    {{SIGUSR1, "SIGUSR1"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}}};

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (const auto& [number, name] : stopping) sigaddset(&signals_, number);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

void StopSignals::release() const {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::string StopSignals::arrived() const {
  sigset_t pending;
  sigpending(&pending);
  for (const auto& [number, name] : stopping) {
    if (sigismember(&pending, number) == 1) return name;
  }
  return "";
}

}  // namespace mylos::app
