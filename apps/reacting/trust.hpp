// Where the network may be used: its input space in bins, with the measured error of each.
//
// A bin is trusted when at least min_checks cells of it were integrated and predicted, and the root mean
// square of the errors of about the last `memory` of them is within the bound. Inputs outside of all bins,
// and bins that no check has visited, are not learned and so not trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "encoding.hpp"

namespace reacting {

constexpr int bins_of_input[inputs_of_network] = {16, 4, 12};
constexpr int bins = bins_of_input[0] * bins_of_input[1] * bins_of_input[2];

/// The bin of the inputs, or -1 outside of [-1, 1].
KOKKOS_INLINE_FUNCTION int bin_of(const float (&inputs)[inputs_of_network]) {
  constexpr int counts[inputs_of_network] = {bins_of_input[0], bins_of_input[1], bins_of_input[2]};
  int bin = 0;
  for (int i = 0; i < inputs_of_network; ++i) {
    const float position = 0.5f * (inputs[i] + 1) * static_cast<float>(counts[i]);
    if (!(position >= 0 && position <= static_cast<float>(counts[i]))) return -1;
    const int index = static_cast<int>(position);
    bin = bin * counts[i] + (index < counts[i] ? index : counts[i] - 1);
  }
  return bin;
}

class Trust {
 public:
  static constexpr double min_checks = 8;
  static constexpr double memory = 64;

  explicit Trust(double error_bound);

  /// The checks of a step. Integers, so that their sums do not depend on their order.
  struct Checks {
    Kokkos::View<std::uint64_t*> counts;   // of each bin
    Kokkos::View<std::uint64_t*> squares;  // of errors in units of the bound, times 2^20
    /// Adds a check.
    KOKKOS_INLINE_FUNCTION void add(int bin, double error_by_bound) const {
      const double capped = error_by_bound < 100 ? error_by_bound : 100;  // NaN too
      Kokkos::atomic_add(&counts(bin), std::uint64_t(1));
      Kokkos::atomic_add(&squares(bin), static_cast<std::uint64_t>(capped * capped * 1048576));
    }
  };
  Checks checks;

  /// 1 for each bin that is trusted.
  Kokkos::View<unsigned char*> trusted;

  /// Adds the checks of all ranks to the bins' errors. All ranks call it together and get the same.
  void merge(MPI_Comm ranks);

  /// The root mean square of the errors of all ranks' checks at the last merge, and their number.
  [[nodiscard]] double last_error() const { return last_error_; }
  [[nodiscard]] std::uint64_t last_checks() const { return last_checks_; }

  /// [number of checks, mean square of their errors in units of the bound] of each bin: for restarts.
  [[nodiscard]] const std::vector<double>& state() const { return state_; }
  void set_state(std::vector<double> state);

 private:
  void update_trusted();

  double error_bound_;
  std::vector<double> state_;
  double last_error_ = 0;
  std::uint64_t last_checks_ = 0;
};

}  // namespace reacting
