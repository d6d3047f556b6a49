#include "mylos/train/start/stop_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

// Polling a busy parallel file system can take milliseconds: at most 1 % of the time is spent on it.
constexpr int share_of_polling = 100;

}  // namespace

bool StopRequests::file_is_there() {
  const Clock::time_point before = Clock::now();
  if (sources_.file.empty() || before < next_look_) return false;
  std::error_code failure;
  const bool there = std::filesystem::exists(sources_.file, failure);
  const Clock::time_point after = Clock::now();
  shortest_look_ = std::min(shortest_look_, after - before);  // a longer one waited for a processor
  next_look_ = after + share_of_polling * shortest_look_;
  return there;
}

bool StopRequests::due(double reserve_s) {
  if (!reason_.empty()) return true;
  if (const std::string signal = sources_.signal(); !signal.empty()) {
    reason_ = signal;
  } else if (file_is_there()) {
    reason_ = "the file " + sources_.file;
  } else if (sources_.walltime_s > 0) {
    const double elapsed = seconds_since(sources_.started);
    if (elapsed + reserve_s >= sources_.walltime_s)
      reason_ = fmt::format("walltime {}, of which {} are left", format_duration(sources_.walltime_s),
                            format_duration(std::max(0.0, sources_.walltime_s - elapsed)));
  }
  return !reason_.empty();
}

std::string StopRequests::agreed_reason(RankGroup& ranks) const {
  const std::string reason = broadcast_text(ranks, reason_, asking_rank_);
  return ranks.size() == 1 ? reason : fmt::format("{}, on rank {}", reason, asking_rank_);
}

}  // namespace mylos
