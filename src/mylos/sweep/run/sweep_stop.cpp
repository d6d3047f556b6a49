#include "mylos/sweep/run/sweep_stop.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

std::string SweepStop::asked() {
  if (!reason_.empty()) return reason_;
  if (const std::string signal = signal_(); !signal.empty()) {
    ask(signal);
    return reason_;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return "";
  next_look_ = now + std::chrono::seconds(1);
  std::error_code failure;
  if (std::filesystem::exists(file_, failure)) reason_ = "the file " + file_;
  return reason_;
}

void SweepStop::ask(const std::string& reason) {
  reason_ = reason;
  const auto is_there = [this] {
    std::error_code failure;
    return std::filesystem::exists(file_, failure);
  };
  if (is_there()) return;
  try {
    publish_text(file_, fmt::format("asked to stop by {}\n", reason));
  } catch (const Error&) {
    if (!is_there()) throw;  // otherwise another group of this sweep, which had the same signal, was faster
  }
}

}  // namespace mylos
