// Whether reading keeps up with computing: samples that are read for a moment, and the predicted time of a
// step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/config/options.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos::app {

struct ReadingSpeed {
  std::int64_t samples = 0;  // that were read
  std::int64_t piece = 0;    // adjacent samples of a read
  double seconds = 0;

  [[nodiscard]] double per_second() const { return static_cast<double>(samples) / seconds; }
};

/// Reads pieces of adjacent samples, spread over the part, for half a second, or all of them once. Throws
/// Error (bad_input) if the data cannot be read.
[[nodiscard]] ReadingSpeed measure_reading(const SampleStore& store, Split part);

/// Returns lines with the measured speed, and with the time that the deck's network needs for a step; without
/// the latter if its memory cannot be planned. The options need not be complete. Kokkos must run.
[[nodiscard]] std::string describe_reading(const ReadingSpeed& speed, const SampleStore& store, Split part,
                                           const Options& options);

}  // namespace mylos::app
