// RunPosition: the progress of a run in steps, samples and passes over the training data.
#pragma once

#include <cstdint>

#include "mylos/data/feed/epochs.hpp"

namespace mylos {

struct RunPosition {
  Epochs epochs;
  std::int64_t total = 0;         // steps of the run
  std::int64_t max_of_start = 0;  // max. steps of this start; 0: to the end
  std::int64_t stop_at = 0;       // step at which this start ends; 0: the run's end
  std::int64_t first = 0;         // the step after which this start began
  std::int64_t step = 0;          // steps begun
  std::int64_t taken_back = 0;    // steps of this start that the run has undone by returning to a checkpoint

  /// Continues the start that began after step `start` and has made `steps` steps, including those before a
  /// return.
  void continue_start(std::int64_t start, std::int64_t steps) {
    first = start;
    taken_back = steps - (step - start);
  }

  [[nodiscard]] bool at_end() const { return step == total; }
  [[nodiscard]] std::int64_t of_start() const { return step - first + taken_back; }
  [[nodiscard]] bool start_is_over() const {
    return at_end() || (max_of_start > 0 && of_start() >= max_of_start) || is_at_stop();
  }
  [[nodiscard]] bool is_at_stop() const { return stop_at > 0 && step >= stop_at; }
  [[nodiscard]] std::int64_t samples() const { return step * epochs.batch; }
  [[nodiscard]] std::int64_t epoch() const { return epochs.of(samples()); }
  [[nodiscard]] bool ends_epoch() const { return epoch() != epochs.of(samples() - epochs.batch); }
  /// Returns the passes over the training data after `steps` steps.
  [[nodiscard]] double passes(std::int64_t steps) const {
    return static_cast<double>(steps * epochs.batch) / static_cast<double>(epochs.length);
  }
};

}  // namespace mylos
