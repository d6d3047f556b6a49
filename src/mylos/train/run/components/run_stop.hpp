// RunStop: ends a start when a signal, the file `stop` or the walltime asks for it (StopRequests).
#pragma once

#include <utility>

#include "mylos/train/run/components/run_component.hpp"
#include "mylos/train/start/stop_requests.hpp"

namespace mylos {

class RunStop final : public RunComponent {
 public:
  explicit RunStop(StopSources sources) : requests_(std::move(sources)) {}

  /// Whether this rank asks for the end, with `reserve_s` seconds needed for it.
  [[nodiscard]] bool is_requested(double reserve_s) { return requests_.due(reserve_s); }
  /// Whether the ranks have agreed on it.
  [[nodiscard]] bool is_agreed() const { return requests_.agreed(); }

  void after_step(RunContext& run, LastStep& step) override;
  /// Reports who asked for the end, and adds a stop to starts.jsonl unless the run is at its end.
  void finish(RunContext& run, const Quiesced& quiet) override;

 private:
  StopRequests requests_;
};

}  // namespace mylos
