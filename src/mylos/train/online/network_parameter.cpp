// The network's parameters by name: copies of master weights, which may be sharded, to and from the program,
// and of their gradients.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/train/online/online_parts.hpp"

namespace mylos {
namespace {

using HostFloats = Kokkos::View<float*, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class Space, class T>
using SpanOf = Kokkos::View<T*, Kokkos::LayoutRight, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class T>
using HostNumbers = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace>;
using DeviceFloats = Kokkos::View<float*, Kokkos::LayoutRight, Device>;

/// Calls call(TypeTag<T>{}) for the type of a program's view.
template <class Call>
void with_type(DType type, const Call& call) {
  if (type == DType::fp64) return call(TypeTag<double>{});
  dispatch(type, call);
}

template <class T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return from_float<T>(value);
}

template <class T>
float as_float(T value) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<float>(value);
  else
    return to_float(value);
}

/// Between host memory and memory that is either.
void copy_to_program(const HostFloats& from, void* to, DType type, bool on_host) {
  with_type(type, [&]<class T>(TypeTag<T>) {
    const HostNumbers<T> numbers("parameter", from.size());
    for (std::size_t i = 0; i < from.size(); ++i) numbers(i) = rounded<T>(from(i));
    auto* const target = static_cast<T*>(to);
    if (on_host) return Kokkos::deep_copy(SpanOf<Kokkos::HostSpace, T>(target, from.size()), numbers);
    Kokkos::deep_copy(SpanOf<Device, T>(target, from.size()), numbers);
  });
}

void copy_from_program(const void* from, DType type, const HostFloats& to, bool on_host) {
  with_type(type, [&]<class T>(TypeTag<T>) {
    const HostNumbers<T> numbers("parameter", to.size());
    const auto* const source = static_cast<const T*>(from);
    if (on_host)
      Kokkos::deep_copy(numbers, SpanOf<Kokkos::HostSpace, const T>(source, to.size()));
    else
      Kokkos::deep_copy(numbers, SpanOf<Device, const T>(source, to.size()));
    for (std::size_t i = 0; i < to.size(); ++i) to(i) = as_float(numbers(i));
  });
}

void require_size(const std::string& name, std::int64_t size, std::int64_t count) {
  if (count < 0)
    fail_input(errors::bad_call, "parameter '{}': the view has gaps; give a contiguous one", name);
  if (count != size)
    fail_input(errors::bad_call, "parameter '{}' has {} values, the view {}", name, size, count);
}

/// Adds up the floats of all ranks, in double and in the order of the ranks, and multiplies the sums.
void sum_over_ranks(RankGroup& ranks, const HostFloats& values, double factor) {
  constexpr std::size_t at_a_time = std::size_t{1} << 18;
  const auto count = static_cast<std::size_t>(ranks.size());
  std::vector<float> all(count * std::min(at_a_time, values.size()));
  for (std::size_t first = 0; first < values.size(); first += at_a_time) {
    const std::size_t length = std::min(at_a_time, values.size() - first);
    ranks.all_gather(values.data() + first, all.data(), length * sizeof(float));
    for (std::size_t i = 0; i < length; ++i) {
      double sum = 0;
      for (std::size_t rank = 0; rank < count; ++rank) sum += static_cast<double>(all[rank * length + i]);
      values(first + i) = static_cast<float>(factor * sum);
    }
  }
}

/// Adds up bits of which at most one rank's are not 0.
void unite(RankGroup& ranks, const HostFloats& values) {
  std::vector<std::int64_t> words((values.size() + 1) / 2);
  std::memcpy(words.data(), values.data(), values.size() * sizeof(float));
  ranks.add_up(words);
  std::memcpy(values.data(), words.data(), values.size() * sizeof(float));
}

}  // namespace

void NetworkParameter::read_to(const ProgramMemory& values) const {
  const BusyCall call = parts_->begin("NetworkParameter::read");
  Trainer& trainer = *parts_->assembly.trainer;
  RankGroup& ranks = trainer.communicator().ranks();
  const Execution& exec = trainer.execution();
  trainer.quiesce();
  trainer.communicator().synchronize(exec);
  run_on_all(ranks, [&] { require_size(name_, size(), values.count); });
  const ParameterStore& parameters = trainer.model().parameters();
  const HeldPart part = parameters.held_master(slot_);
  const HostFloats all("parameter", static_cast<std::size_t>(size()));
  if (part.values.size() > 0) {
    const DeviceFloats own("parameter", static_cast<std::size_t>(part.values.size()));
    convert(exec, part.values, Tensor(own.data(), DType::fp32, 1, part.values.size()));
    exec.fence("parameter read");
    const auto first = static_cast<std::size_t>(part.first);
    Kokkos::deep_copy(Kokkos::subview(all, std::pair(first, first + own.size())), own);
  }
  if (parameters.layout().shard_owners > 1) unite(ranks, all);
  copy_to_program(all, values.data, values.type, values.on_host);
}

void NetworkParameter::read_gradient_to(const ProgramMemory& values) const {
  const BusyCall call = parts_->begin("NetworkParameter::read_gradient");
  Trainer& trainer = *parts_->assembly.trainer;
  RankGroup& ranks = trainer.communicator().ranks();
  const Execution& exec = trainer.execution();
  trainer.quiesce();
  trainer.communicator().synchronize(exec);
  std::int64_t passes_and_rows[] = {trainer.passes().backward, trainer.passes().rows};
  ranks.add_up(passes_and_rows);
  const auto [passes, rows] = passes_and_rows;
  run_on_all(ranks, [&] {
    require_size(name_, size(), values.count);
    if (trainer.model().parameters().layout().cuts_gradients()) {
      fail_input(errors::bad_call,
                 "parameter '{}': with optimizer.shard = \"gradients\" no rank keeps its gradients; set "
                 "optimizer.shard to \"state\"",
                 name_);
    }
    if (passes == 0)
      fail_input(errors::bad_call, "parameter '{}': read_gradient() needs a backward() before it", name_);
  });
  const DeviceFloats own("gradient", static_cast<std::size_t>(size()));
  trainer.read_own_gradient(slot_, parts_->own_loss, Tensor(own.data(), DType::fp32, 1, size()));
  exec.fence("gradient read");
  const HostFloats all("gradient", own.size());
  Kokkos::deep_copy(all, own);
  const bool is_mean = parts_->own.reduction == LossReduction::mean && rows > 0;
  sum_over_ranks(ranks, all, is_mean ? static_cast<double>(parts_->boxes) / static_cast<double>(rows) : 1);
  copy_to_program(all, values.data, values.type, values.on_host);
}

void NetworkParameter::write_from(const ProgramMemory& values) const {
  const BusyCall call = parts_->begin("NetworkParameter::write");
  Trainer& trainer = *parts_->assembly.trainer;
  RankGroup& ranks = trainer.communicator().ranks();
  const Execution& exec = trainer.execution();
  trainer.quiesce();
  trainer.communicator().synchronize(exec);
  const HostFloats all("parameter", static_cast<std::size_t>(size()));
  run_on_all(ranks, [&] {
    require_size(name_, size(), values.count);
    if (trainer.passes().is_forward_done)
      fail_input(errors::bad_call, "parameter '{}' is written between forward() and backward()", name_);
    if (ranks.rank() != 0) return;
    copy_from_program(values.data, values.type, all, values.on_host);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!std::isfinite(all(i)))
        fail_input(errors::bad_call, "parameter '{}': value {} is {}; weights must be finite", name_, i,
                   all(i));
    }
  });
  ranks.broadcast(all.data(), all.size() * sizeof(float), 0);
  const HeldPart part = trainer.model().parameters().held_master(slot_);
  if (part.values.size() > 0) {
    const DeviceFloats own("parameter", static_cast<std::size_t>(part.values.size()));
    const auto first = static_cast<std::size_t>(part.first);
    Kokkos::deep_copy(own, Kokkos::subview(all, std::pair(first, first + own.size())));
    convert(exec, ConstTensor(own.data(), DType::fp32, 1, part.values.size()), part.values);
  }
  trainer.refresh_weights();
  trainer.communicator().synchronize(exec);
}

std::vector<NetworkParameter> OnlineTrainer::parameters() {
  Trainer& trainer = *parts_->assembly.trainer;
  const ParameterLayout& layout = trainer.model().parameters().layout();
  std::vector<NetworkParameter> all;
  for (const auto& slots : layout.slots_of_block) {
    for (const std::size_t index : slots) {
      const ParameterSlot& slot = layout.slots[index];
      all.push_back({*parts_, slot.path(), index, slot.spec.rows, slot.spec.columns});
    }
  }
  return all;
}

NetworkParameter OnlineTrainer::parameter(const std::string& name) {
  std::string names;
  for (NetworkParameter& parameter : parameters()) {
    if (parameter.name() == name) return parameter;
    names += (names.empty() ? "" : ", ") + parameter.name();
  }
  fail_input(errors::unknown_name, "the network has no parameter '{}'; it has {}", printable(name), names);
}

}  // namespace mylos
