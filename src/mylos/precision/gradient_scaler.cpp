#include "mylos/precision/gradient_scaler.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/pointwise/gradient_scale.hpp"

namespace mylos {
namespace {

ScalerMode mode_of(const ScalerOptions& options) {
  return resolve_mode(options.mode, true);
}

/// Before anything of Kokkos is made.
const ScalerOptions& outside_region(const ScalerOptions& options) {
  require_outside_parallel_region("the constructor of GradientScaler");
  return options;
}

MPI_Comm require_member(MPI_Comm ranks) {
  if (ranks == MPI_COMM_NULL)
    fail_input(ErrorId::bad_call, "a GradientScaler was given MPI_COMM_NULL: this rank does not train");
  return ranks;
}

}  // namespace

struct GradientScaler::Parts {
  explicit Parts(const ScalerOptions& options) : Parts(options, 1) {}
  Parts(const ScalerOptions& options, MPI_Comm mpi, double timeout_s)
      : ranks(require_member(mpi), timeout_s),
        rule(scaler_rule(options, mode_of(options))),
        state(initial_scaler_state(options, mode_of(options))),
        flags(static_cast<std::size_t>(ranks.size())) {
    upload_scale();
  }

  void upload_scale() {
    Kokkos::deep_copy(scale, state.scale);
    Kokkos::deep_copy(not_finite, 0);
  }

  Execution exec;
  RankGroup ranks;
  ScalerRule rule;
  ScalerState state;
  std::vector<std::int32_t> flags;  // of all ranks: 1 after an overflow
  Kokkos::View<float, Device> scale{"loss scale"};
  Kokkos::View<std::int32_t, Device> not_finite{"gradients not finite"};
  bool overflow = false;  // of this rank in the current step
  int overflow_rank = -1;

 private:
  Parts(const ScalerOptions& options, std::size_t alone)
      : rule(scaler_rule(options, mode_of(options))),
        state(initial_scaler_state(options, mode_of(options))),
        flags(alone) {
    upload_scale();
  }
};

GradientScaler::GradientScaler(const ScalerOptions& options, MPI_Comm ranks, double timeout_s)
    : parts_(std::make_unique<Parts>(outside_region(options), ranks, timeout_s)) {}
GradientScaler::GradientScaler(const ScalerOptions& options)
    : parts_(std::make_unique<Parts>(outside_region(options))) {}
GradientScaler::~GradientScaler() = default;
GradientScaler::GradientScaler(GradientScaler&&) noexcept = default;
GradientScaler& GradientScaler::operator=(GradientScaler&&) noexcept = default;

float GradientScaler::scale() const {
  return parts_->state.scale;
}

void GradientScaler::unscale_and_check(const Tensor& gradients) {
  require_outside_parallel_region("GradientScaler::unscale_and_check");
  if (gradients.size() == 0) return;
  divide_by_scale(parts_->exec, gradients, gradients, parts_->scale.data(), 1, parts_->not_finite.data());
  std::int32_t found = 0;
  Kokkos::deep_copy(found, parts_->not_finite);
  if (found != 0) parts_->overflow = true;
}

void GradientScaler::note_overflow() {
  parts_->overflow = true;
}

bool GradientScaler::update() {
  require_outside_parallel_region("GradientScaler::update");
  Parts& parts = *parts_;
  const std::int32_t own = parts.overflow ? 1 : 0;
  parts.ranks.all_gather(&own, parts.flags.data(), sizeof(own));
  const auto first = std::find(parts.flags.begin(), parts.flags.end(), 1);
  const bool any = first != parts.flags.end();
  parts.overflow_rank = any ? static_cast<int>(first - parts.flags.begin()) : -1;
  parts.rule.advance(parts.state, any);
  parts.overflow = false;
  parts.upload_scale();
  if (parts.rule.exhausted(parts.state)) {
    throw Error(ExitCode::diverged, ErrorId::diverged,
                fmt::format("{} steps in a row had gradients that are not finite, and the loss scale {:g} "
                            "cannot be lowered further",
                            parts.state.skipped_in_a_row, parts.state.scale));
  }
  return !any;
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
  if (!is_possible(state))
    fail_input(ErrorId::bad_call, "set_state: no sequence of steps leads to this state of a loss scaler");
  parts_->state = state;
  parts_->overflow = false;
  parts_->upload_scale();
}

}  // namespace mylos
