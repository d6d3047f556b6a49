#include "mylos/precision/gradient_scaler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "mylos/base/device/busy_flag.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/device/same_kokkos.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/mpi_running.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/pointwise/gradient_scale.hpp"

namespace mylos {
namespace {

ScalerMode mode_of(const ScalerOptions& options) {
  return resolve_mode(options.mode, true);
}

/// The limits of the deck's keys (config/keys/precision_keys.cpp).
void require_possible(const ScalerOptions& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) fail_input(errors::bad_call, "a GradientScaler needs {}", what);
  };
  const auto is_scale = [](double scale) { return scale >= 1e-30 && scale <= 1e30; };
  const auto is_ordered = [](double low, double high) { return low <= high; };
  require(is_scale(options.initial_scale) && is_scale(options.min_scale) && is_scale(options.max_scale),
          "scales from 1e-30 to 1e30");
  require(options.growth_factor > 1 && options.growth_factor <= 65536, "a growth_factor above 1, to 65536");
  require(options.backoff_factor > 0 && options.backoff_factor < 1, "a backoff_factor between 0 and 1");
  require(options.growth_interval >= 1 && options.hysteresis >= 1 && options.max_consecutive_skips >= 1,
          "a growth_interval, a hysteresis and max_consecutive_skips of at least 1");
  require(options.backoff_window >= 0 && options.backoff_window <= RecentOverflows::length,
          "a backoff_window from 0 to 1000");
  require(options.backoff_window == 0 || (options.hysteresis == 1 && options.backoff_overflows >= 1 &&
                                          options.backoff_overflows <= options.backoff_window),
          "hysteresis 1 and backoff_overflows from 1 to backoff_window beside a backoff_window");
  if (mode_of(options) != ScalerMode::dynamic) return;
  require(is_ordered(options.min_scale, options.initial_scale) &&
              is_ordered(options.initial_scale, options.max_scale),
          "min_scale <= initial_scale <= max_scale");
}

/// Before anything of Kokkos is made.
const ScalerOptions& checked(const ScalerOptions& options) {
  require_outside_parallel_region("the constructor of GradientScaler");
  require_possible(options);
  return options;
}

MPI_Comm require_member(MPI_Comm ranks) {
  if (!mpi_is_running())
    fail_run(errors::bad_call,
             "MPI is not running; a GradientScaler of several ranks must live between MPI_Init and "
             "MPI_Finalize");
  if (ranks == MPI_COMM_NULL)
    fail_input(errors::bad_call, "a GradientScaler was given MPI_COMM_NULL: this rank does not train");
  if (!is_communicator(ranks))
    fail_input(errors::bad_call, "a GradientScaler was given a handle that is no communicator");
  return ranks;
}

}  // namespace

struct GradientScaler::Parts {
  /// What each rank contributes at the end of a step.
  struct EndOfStep {
    std::int32_t overflow = 0;
    std::uint32_t scale_bits = 0;
  };

  explicit Parts(const ScalerOptions& options) : Parts(options, 1) {}
  Parts(const ScalerOptions& options, MPI_Comm mpi, double timeout_s)
      : ranks(require_member(mpi), timeout_s),
        rule(scaler_rule(options, mode_of(options))),
        state(initial_scaler_state(options, mode_of(options))),
        ends(static_cast<std::size_t>(ranks.size())) {
    upload_scale();
  }

  /// On hosts without Kokkos' copies, which allocate their labels.
  void upload_scale() {
    if constexpr (memory_is_host) {
      *scale.data() = state.scale;
      *not_finite.data() = 0;
    } else {
      Kokkos::deep_copy(scale, state.scale);
      Kokkos::deep_copy(not_finite, 0);
    }
  }

  [[nodiscard]] bool found_not_finite() const {
    std::int32_t found = 0;
    if constexpr (memory_is_host) {
      found = *not_finite.data();
    } else {
      Kokkos::deep_copy(found, not_finite);
    }
    return found != 0;
  }

  void require_equal_scales() const {
    for (std::size_t rank = 1; rank < ends.size(); ++rank) {
      if (ends[rank].scale_bits == ends[0].scale_bits) continue;
      fail_input(errors::bad_call,
                 "GradientScaler::update: the loss scale is {:g} on rank 0 and {:g} on rank {}; all ranks "
                 "construct the scaler with the same options and set the same state",
                 std::bit_cast<float>(ends[0].scale_bits), std::bit_cast<float>(ends[rank].scale_bits), rank);
    }
  }

  Execution exec;
  RankGroup ranks;
  ScalerRule rule;
  ScalerState state;
  std::vector<EndOfStep> ends;  // of all ranks
  Kokkos::View<float, Device> scale{"loss scale"};
  Kokkos::View<std::int32_t, Device> not_finite{"gradients not finite"};
  bool overflow = false;  // of this rank in the current step
  int overflow_rank = -1;
  BusyFlag busy;

 private:
  Parts(const ScalerOptions& options, std::size_t alone)
      : rule(scaler_rule(options, mode_of(options))),
        state(initial_scaler_state(options, mode_of(options))),
        ends(alone) {
    upload_scale();
  }
};

GradientScaler::GradientScaler(const ScalerOptions& options, MPI_Comm ranks, double timeout_s,
                               const KokkosRuntime& kokkos) {
  require_same_kokkos("GradientScaler", kokkos);
  parts_ = std::make_unique<Parts>(checked(options), ranks, timeout_s);
}
GradientScaler::GradientScaler(const ScalerOptions& options, const KokkosRuntime& kokkos) {
  require_same_kokkos("GradientScaler", kokkos);
  parts_ = std::make_unique<Parts>(checked(options));
}
GradientScaler::~GradientScaler() = default;
GradientScaler::GradientScaler(GradientScaler&&) noexcept = default;
GradientScaler& GradientScaler::operator=(GradientScaler&&) noexcept = default;

float GradientScaler::scale() const {
  return parts_->state.scale;
}

void GradientScaler::unscale_and_check(const Tensor& gradients) {
  unscale_and_check(gradients, gradients);
}

void GradientScaler::unscale_and_check(const ConstTensor& gradients, const Tensor& unscaled) {
  require_outside_parallel_region("GradientScaler::unscale_and_check");
  const BusyCall call(parts_->busy, "GradientScaler::unscale_and_check");
  if (gradients.size() != unscaled.size())
    fail_input(errors::bad_call, "unscale_and_check: {} gradients, and room for {} quotients",
               gradients.size(), unscaled.size());
  if (gradients.size() == 0) return;
  divide_by_scale(parts_->exec, gradients, unscaled, parts_->scale.data(), 1, parts_->not_finite.data());
  if (parts_->found_not_finite()) parts_->overflow = true;
}

void GradientScaler::note_overflow() {
  parts_->overflow = true;
}

bool GradientScaler::has_overflow() const {
  return parts_->overflow;
}

ScaleUpdate GradientScaler::update() {
  require_outside_parallel_region("GradientScaler::update");
  const BusyCall call(parts_->busy, "GradientScaler::update");
  Parts& parts = *parts_;
  const Parts::EndOfStep own{parts.overflow ? 1 : 0, std::bit_cast<std::uint32_t>(parts.state.scale)};
  parts.ranks.all_gather(&own, parts.ends.data(), sizeof(own));
  parts.require_equal_scales();
  const auto first = std::find_if(parts.ends.begin(), parts.ends.end(),
                                  [](const Parts::EndOfStep& end) { return end.overflow != 0; });
  const bool any = first != parts.ends.end();
  parts.overflow_rank = any ? static_cast<int>(first - parts.ends.begin()) : -1;
  const float old_scale = parts.state.scale;
  const ScaleEvent event = parts.rule.advance(parts.state, any);
  parts.overflow = false;
  parts.upload_scale();
  if (parts.rule.exhausted(parts.state)) {
    throw Error(ExitCode::diverged, errors::diverged,
                fmt::format("{} steps in a row had gradients that are not finite, and the loss scale {:g} "
                            "cannot be lowered further",
                            parts.state.skipped_in_a_row, parts.state.scale));
  }
  return {.is_finite = !any, .event = event, .old_scale = old_scale, .new_scale = parts.state.scale};
}

int GradientScaler::overflow_rank() const {
  return parts_->overflow_rank;
}

ScalerStatistics GradientScaler::statistics() const {
  return statistics_of(parts_->state);
}

const ScalerState& GradientScaler::state() const {
  return parts_->state;
}

void GradientScaler::set_state(const ScalerState& state) {
  require_outside_parallel_region("GradientScaler::set_state");
  const BusyCall call(parts_->busy, "GradientScaler::set_state");
  if (!is_possible(state))
    fail_input(errors::bad_call, "set_state: no sequence of steps leads to this state of a loss scaler");
  parts_->state = state;
  parts_->overflow = false;
  parts_->upload_scale();
}

}  // namespace mylos
