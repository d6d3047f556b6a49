// GradientScaler: the loss scaler for gradients that a program computes and stores itself, in any type and
// with any library.
//
// The program multiplies its loss by scale() before it differentiates it. unscale_and_check() divides each
// array of gradients by the scale and records whether a number is not finite; update() makes the ranks agree
// and returns whether the program may update its weights. The method is that of P. Micikevicius et al.,
// "Mixed precision training" (arXiv 1710.03740), with the state machine of loss_scaler.hpp (hysteresis as in
// Megatron-LM's dynamic scaler):
//
//   mylos::GradientScaler scaler(mylos::scaler_preset("conservative"), ranks);
//   ... gradients of scaler.scale() * loss ...
//   scaler.unscale_and_check(weights_gradient);       // each array once
//   scaler.unscale_and_check(bias_gradient);
//   if (scaler.update()) ...                          // the same answer on all ranks: ScaleUpdate
//
// Arrays belong to the program: the scaler keeps no reference to them after a call. Kokkos must be running
// while the scaler exists. Only one thread at a time may use it, outside of OpenMP parallel regions: a call
// that finds another one running on it throws Error (failed, bad_call). On hosts only the constructor and the
// first update() allocate memory.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/kokkos_runtime.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/precision/loss_scaler.hpp"
#include "mylos/precision/scaler_statistics.hpp"

namespace mylos {

/// The outcome of a step, the same on all ranks. True if all gradients of all ranks were finite, so that the
/// program updates its weights.
struct ScaleUpdate {
  bool is_finite = true;                       // as the conversion to bool
  ScaleEvent event = ScaleEvent::unchanged;    // how the scale changed
  float old_scale = 1;                         // that the step was computed with
  float new_scale = 1;                         // of the next step
  operator bool() const { return is_finite; }  // NOLINT: update() is a question
};

/// A loss scale that all ranks agree on, for a program with its own gradients.
class GradientScaler {
 public:
  /// `options` as in [precision.scaler]; mode automatic means dynamic, and `reset` has no effect. `ranks`:
  /// the ranks that agree on overflows; the communicator is duplicated, and must not be freed before MPI
  /// ends. `timeout_s`: seconds that update() waits for other ranks. All ranks construct it with the same
  /// options. Throws Error (bad_input) for MPI_COMM_NULL, and for options that would be invalid in a deck;
  /// Error (failed) if MPI is not running.
  /// kokkos_mismatch if the program has another Kokkos than the library (`kokkos`, kokkos_runtime.hpp).
  explicit GradientScaler(const ScalerOptions& options, MPI_Comm ranks, double timeout_s = 300,
                          const KokkosRuntime& kokkos = kokkos_of_caller());
  /// For this process alone; MPI need not be running.
  explicit GradientScaler(const ScalerOptions& options = {},
                          const KokkosRuntime& kokkos = kokkos_of_caller());
  ~GradientScaler();
  /// A scaler that was moved from may only be destroyed or assigned to.
  GradientScaler(GradientScaler&&) noexcept;
  /// As the constructor that moves.
  GradientScaler& operator=(GradientScaler&&) noexcept;

  /// Returns the factor by which to multiply the loss of the current step.
  [[nodiscard]] float scale() const;
  /// Divides the gradients of the current step, in device memory, by scale(), rounds them to their type, and
  /// records whether one is not finite, before or after. Involves only this rank. Waits for the result.
  void unscale_and_check(const Tensor& gradients);
  /// Does the same, but writes the quotients to `unscaled`, rounded to its type, and leaves the gradients as
  /// they are: small gradients in half have more digits as floats. Both have the same number of elements, in
  /// the same memory order; they must not overlap, unless they are the same memory and their types have the
  /// same size. Throws Error (bad_input) if the numbers of elements differ.
  void unscale_and_check(const ConstTensor& gradients, const Tensor& unscaled);
  /// Does the same for a contiguous Kokkos view of float, double, half or bfloat16 in device memory, of any
  /// rank. Doubles are divided in double.
  /// Throws Error (bad_input) for a view with gaps.
  template <class View>
  requires Kokkos::is_view_v<View>
  void unscale_and_check(const View& gradients) { unscale_and_check(tensor_of<Tensor>(gradients)); }
  /// Does the same for two views, whose elements may have different types. Views of two or more dimensions
  /// must have the same number of dimensions, the same layout and the same extents (else Error, bad_input).
  template <class View, class Unscaled>
  requires Kokkos::is_view_v<View> && Kokkos::is_view_v<Unscaled>
  void unscale_and_check(const View& gradients, const Unscaled& unscaled) {
    if constexpr (View::rank() > 1 && Unscaled::rank() > 1) {
      static_assert(View::rank() == Unscaled::rank() &&
                        std::is_same_v<typename View::array_layout, typename Unscaled::array_layout>,
                    "quotients lie in the order of the gradients");
      for (std::size_t i = 0; i < View::rank(); ++i) {
        if (gradients.extent(i) != unscaled.extent(i))
          fail_input(errors::bad_call, "unscale_and_check: extent {} is {} of one view and {} of the other",
                     i, gradients.extent(i), unscaled.extent(i));
      }
    }
    unscale_and_check(tensor_of<ConstTensor>(gradients), tensor_of<Tensor>(unscaled));
  }
  /// Records an overflow that the program found itself.
  void note_overflow();
  /// Returns whether this rank has an overflow in the current step: a gradient that was not finite, or one
  /// that the program recorded. Involves only this rank.
  [[nodiscard]] bool has_overflow() const;
  /// Ends the step: agrees with all ranks on overflows and advances the scale. All ranks call it. Throws
  /// Error on all ranks: diverged if max_consecutive_skips consecutive steps overflowed and no lower scale
  /// helps, bad_call if the scales of two ranks differ because their options or states did.
  ScaleUpdate update();

  /// Returns the lowest rank that overflowed in the last step that update() ended, or -1.
  [[nodiscard]] int overflow_rank() const;
  /// Returns the statistics since the beginning, or since set_state(). The same on all ranks.
  [[nodiscard]] ScalerStatistics statistics() const;
  /// Returns the complete state, for a program's own restart file. It is trivially copyable: a program may
  /// write its bytes for a process of the same build, or its members for any process.
  [[nodiscard]] const ScalerState& state() const;
  /// Continues from a state, with the options of this scaler. All ranks set the same one. Throws Error
  /// (bad_input) for a state that no sequence of steps can produce.
  void set_state(const ScalerState& state);

 private:
  template <class AnyTensor, class View>
  static AnyTensor tensor_of(const View& view) {
    static_assert(Kokkos::SpaceAccessibility<Execution, typename View::memory_space>::accessible,
                  "gradients lie in the memory where kernels run");
    if (!view.span_is_contiguous())
      fail_input(errors::bad_call, "unscale_and_check: the view has gaps; give a contiguous view");
    return AnyTensor(view.data(), dtype_of<typename View::non_const_value_type>, 1,
                     static_cast<std::int64_t>(view.size()));
  }

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mylos
