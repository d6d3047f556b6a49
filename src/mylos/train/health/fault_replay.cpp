#include "mylos/train/health/fault_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/kernels/launch/reduce.hpp"
#include "mylos/train/health/health_watch.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

std::int64_t first_nonfinite_element(const Execution& exec, const ConstTensor& tensor) {
  Kokkos::View<std::int64_t, Device> index("first non-finite");
  first_nonfinite(exec, tensor, index.data());
  std::int64_t result = -1;
  exec.fence();
  Kokkos::deep_copy(Kokkos::View<std::int64_t, Kokkos::HostSpace>(&result), index);
  return result;
}

/// This rank's first fault. The passes run to their end: other ranks may wait for what they exchange.
std::optional<Fault> find_own_fault(Trainer& trainer, BatchSource& batches) {
  const Execution& exec = trainer.execution();
  const Chain& chain = trainer.model().chain();
  std::optional<Fault> first;
  const Observer observer = [&](const Observation& seen) {
    if (first) return;
    const std::int64_t index = first_nonfinite_element(exec, seen.value);
    if (index < 0) return;
    const std::int64_t columns = seen.value.columns();
    first = Fault{0, chain.stage_name(seen.block), seen.tensor, index / columns, index % columns};
  };
  trainer.observe_gradients(batches, observer);
  return first;
}

/// What ranks exchange: fixed sizes, names cut to fit.
struct FaultMessage {
  std::int32_t found = 0;
  std::array<char, 128> layer{};
  std::array<char, 64> tensor{};
  std::int64_t row = 0;
  std::int64_t column = 0;
};

std::string describe(const std::optional<Fault>& fault) {
  if (!fault) return "every rank's own gradients are finite, their sum over ranks is not";
  return fmt::format("rank {}, layer {}, tensor '{}' (row {}, column {}) is the first that is not finite",
                     fault->rank, fault->layer, fault->tensor, fault->row, fault->column);
}

template <std::size_t N>
void copy_name(std::array<char, N>& to, const std::string& from) {
  std::memcpy(to.data(), from.data(), std::min(from.size(), N - 1));
}

}  // namespace

std::optional<Fault> find_fault(const Quiesced& /*quiet*/, Trainer& trainer, BatchSource& batches) {
  RankGroup& ranks = trainer.communicator().ranks();
  const StepState after = trainer.read_state();
  StepState before = after;
  before.step -= 1;  // the same random numbers as in the step
  trainer.write_state(before);
  std::optional<Fault> own;
  run_on_all(ranks, [&] { own = find_own_fault(trainer, batches); });
  trainer.write_state(after);

  FaultMessage message;
  if (own) {
    message.found = 1;
    copy_name(message.layer, own->layer);
    copy_name(message.tensor, own->tensor);
    message.row = own->row;
    message.column = own->column;
  }
  std::vector<FaultMessage> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&message, all.data(), sizeof(message));
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const FaultMessage& theirs = all[static_cast<std::size_t>(rank)];
    if (theirs.found != 0) {
      return Fault{rank, theirs.layer.data(), theirs.tensor.data(), theirs.row, theirs.column};
    }
  }
  return std::nullopt;
}

RunEvent not_finite_event(const StepState& state, const std::optional<Fault>& fault) {
  return {state.step, "warning", health_cause::not_finite, fault ? fault->layer : "",
          fmt::format("the step was skipped, its gradients are not finite: {}", describe(fault))};
}

std::string describe_divergence(const StepState& state, const std::optional<Fault>& fault) {
  return fmt::format(
      "diverged at step {}: {} steps in a row were not finite and the loss scale {:g} cannot be lowered "
      "further; {}. The weights are those before the first of these steps",
      state.step, state.scaler.skipped_in_a_row, state.scaler.scale, describe(fault));
}

}  // namespace mylos
