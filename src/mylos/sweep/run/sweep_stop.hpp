// SweepStop: whether a sweep was asked to stop: by a signal, or by the file `stop` in its folder. The first
// member that stops writes that file, so that all groups of ranks stop: a signal or the end of the walltime
// may reach one alone.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace mylos {

class SweepStop {
 public:
  /// `signal` returns the name of a signal that has arrived, or "".
  SweepStop(std::function<std::string()> signal, const std::string& folder)
      : signal_(std::move(signal)), file_(folder + "/stop") {}

  /// Returns who asked; "" if nobody has. Looks for the file at most once a second.
  [[nodiscard]] std::string asked();
  /// Asks all groups to stop.
  void ask(const std::string& reason);

 private:
  std::function<std::string()> signal_;
  std::string file_;
  std::string reason_;
  std::chrono::steady_clock::time_point next_look_ = {};
};

}  // namespace mylos
