// StepSpectrum: energies by wavenumber after one step of rollouts, means over their starts.
#pragma once

#include <cstdint>
#include <vector>

namespace mylos {

/// Each part is [channels, wavenumbers].
struct StepSpectrum {
  std::int64_t channels = 1;
  std::vector<double> network = {};  // empty if a start has missing numbers
  std::vector<double> truth = {};    // empty if it is not known for every start
  std::vector<double> error = {};    // of network - truth; likewise

  /// Returns a part's sums over the channels, by wavenumber.
  [[nodiscard]] std::vector<double> over_channels(std::vector<double> StepSpectrum::*part) const {
    const std::vector<double>& of = this->*part;
    std::vector<double> sums(of.size() / static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < of.size(); ++i) sums[i % sums.size()] += of[i];
    return sums;
  }
};

}  // namespace mylos
