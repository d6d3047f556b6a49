#include "trust.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reacting {

Trust::Trust(double error_bound)
    : checks{Kokkos::View<std::uint64_t*>("counts", bins), Kokkos::View<std::uint64_t*>("squares", bins)},
      trusted("trusted", bins),
      error_bound_(error_bound),
      state_(2 * bins) {}

void Trust::merge(MPI_Comm ranks) {
  std::vector<std::uint64_t> sums(2 * bins);
  using Host = Kokkos::View<std::uint64_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Host(sums.data(), bins), checks.counts);
  Kokkos::deep_copy(Host(sums.data() + bins, bins), checks.squares);
  Kokkos::deep_copy(checks.counts, 0);
  Kokkos::deep_copy(checks.squares, 0);
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2 * bins, MPI_UINT64_T, MPI_SUM, ranks);
  last_checks_ = 0;
  double all_squares = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    if (sums[bin] == 0) continue;
    const auto count = static_cast<double>(sums[bin]);
    const double squares = static_cast<double>(sums[bins + bin]) / 1048576;
    last_checks_ += sums[bin];
    all_squares += squares;
    double& known = state_[2 * bin];
    double& mean = state_[2 * bin + 1];
    const double kept = std::max(0.0, std::min(known, memory - count));
    mean = (kept * mean + squares) / (kept + count);
    known = kept + count;
  }
  last_error_ =
      last_checks_ > 0 ? error_bound_ * std::sqrt(all_squares / static_cast<double>(last_checks_)) : 0;
  update_trusted();
}

void Trust::set_state(std::vector<double> state) {
  state_ = std::move(state);
  update_trusted();
}

void Trust::update_trusted() {
  const auto host = Kokkos::create_mirror_view(trusted);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    host(bin) = state_[2 * bin] >= min_checks && state_[2 * bin + 1] <= 1 ? 1 : 0;
  }
  Kokkos::deep_copy(trusted, host);
}

}  // namespace reacting
