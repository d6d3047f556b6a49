#include "mylos/sweep/run/heartbeat.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"

namespace mylos {
namespace {

constexpr double beats_in_timeout = 8;
constexpr double longest_silence_s = 5;

/// When the file was renewed; -1 ns: there is none. It is opened because network file systems ask
/// for its time again only then.
std::chrono::nanoseconds time_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return std::chrono::nanoseconds(-1);
  struct stat found {};
  const int failed = ::fstat(descriptor, &found);
  ::close(descriptor);
  if (failed != 0) return std::chrono::nanoseconds(-1);
  return std::chrono::seconds(found.st_mtim.tv_sec) + std::chrono::nanoseconds(found.st_mtim.tv_nsec);
}

}  // namespace

Heartbeat::Heartbeat(const std::string& folder, int rank, int ranks, double timeout_s)
    : folder_(folder + "/state"),
      rank_(rank),
      timeout_s_(timeout_s),
      between_(std::min(longest_silence_s, timeout_s / beats_in_timeout)),
      signs_(static_cast<std::size_t>(ranks), Sign{.seen = {}}) {
  ::unlink(path(rank).c_str());  // of a start that was killed
  const int descriptor = ::open(path(rank).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail_run(errors::cannot_write, "{}: cannot be made: {}", path(rank), std::strerror(errno));
  ::close(descriptor);
  thread_ = std::thread([this] { beat(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  thread_.join();
  ::unlink(path(rank_).c_str());
}

std::string Heartbeat::path(int rank) const {
  return fmt::format("{}/rank-{}.alive", folder_, rank);
}

void Heartbeat::beat() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, between_, [this] { return ends_; }))
    ::utimensat(AT_FDCWD, path(rank_).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void Heartbeat::require_all() {
  const auto now = Clock::now();
  if (now < next_poll_) return;
  next_poll_ = now + std::chrono::duration_cast<Clock::duration>(between_);
  std::vector<int> silent;
  for (std::size_t rank = 0; rank < signs_.size(); ++rank) {
    Sign& sign = signs_[rank];
    const std::chrono::nanoseconds time = time_of(path(static_cast<int>(rank)));
    if (time != sign.time || sign.seen == Clock::time_point()) {
      sign = {time, now};
    } else if (now - sign.seen > std::chrono::duration<double>(timeout_s_)) {
      silent.push_back(static_cast<int>(rank));
    }
  }
  if (silent.empty()) return;
  fail_run(errors::communication_failed,
           "sweep: rank {} of {} waited {:.4g} s for a sign of {} (communication.timeout = {:.4g})", rank_,
           signs_.size(), timeout_s_, name_ranks(silent), timeout_s_);
}

}  // namespace mylos
