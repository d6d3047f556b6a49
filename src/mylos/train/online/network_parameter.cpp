// The network's parameters by name: copies of master weights, which may be sharded, to and from the program.
#include <cmath>
#include <cstring>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/train/online/online_parts.hpp"

namespace mylos {
namespace {

using HostFloats = Kokkos::View<float*, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class Space, class T>
using SpanOf = Kokkos::View<T*, Kokkos::LayoutRight, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using DeviceFloats = Kokkos::View<float*, Kokkos::LayoutRight, Device>;

/// Between host memory and memory that is either.
void copy_to_program(const HostFloats& from, float* to, bool on_host) {
  if (on_host) return Kokkos::deep_copy(SpanOf<Kokkos::HostSpace, float>(to, from.size()), from);
  Kokkos::deep_copy(SpanOf<Device, float>(to, from.size()), from);
}

void copy_from_program(const float* from, const HostFloats& to, bool on_host) {
  if (on_host) return Kokkos::deep_copy(to, SpanOf<Kokkos::HostSpace, const float>(from, to.size()));
  Kokkos::deep_copy(to, SpanOf<Device, const float>(from, to.size()));
}

void require_size(const std::string& name, std::int64_t size, std::int64_t count) {
  if (count < 0)
    fail_input(ErrorId::bad_call, "parameter '{}': the view has gaps; give a contiguous one", name);
  if (count != size)
    fail_input(ErrorId::bad_call, "parameter '{}' has {} values, the view {}", name, size, count);
}

/// Adds up bits of which at most one rank's are not 0.
void unite(RankGroup& ranks, const HostFloats& values) {
  std::vector<std::int64_t> words((values.size() + 1) / 2);
  std::memcpy(words.data(), values.data(), values.size() * sizeof(float));
  ranks.add_up(words);
  std::memcpy(values.data(), words.data(), values.size() * sizeof(float));
}

}  // namespace

void NetworkParameter::read_to(float* values, std::int64_t count, bool on_host) const {
  require_outside_parallel_region("NetworkParameter::read");
  RankGroup& ranks = trainer_->communicator().ranks();
  const Execution& exec = trainer_->execution();
  trainer_->quiesce();
  trainer_->communicator().synchronize(exec);
  run_on_all(ranks, [&] { require_size(name_, size(), count); });
  const ParameterStore& parameters = trainer_->model().parameters();
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
  copy_to_program(all, values, on_host);
}

void NetworkParameter::write_from(const float* values, std::int64_t count, bool on_host) const {
  require_outside_parallel_region("NetworkParameter::write");
  RankGroup& ranks = trainer_->communicator().ranks();
  const Execution& exec = trainer_->execution();
  trainer_->quiesce();
  trainer_->communicator().synchronize(exec);
  const HostFloats all("parameter", static_cast<std::size_t>(size()));
  run_on_all(ranks, [&] {
    require_size(name_, size(), count);
    if (trainer_->passes().is_forward_done)
      fail_input(ErrorId::bad_call, "parameter '{}' is written between forward() and backward()", name_);
    if (ranks.rank() != 0) return;
    copy_from_program(values, all, on_host);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!std::isfinite(all(i)))
        fail_input(ErrorId::bad_call, "parameter '{}': value {} is {}; weights must be finite", name_, i,
                   all(i));
    }
  });
  ranks.broadcast(all.data(), all.size() * sizeof(float), 0);
  const HeldPart part = trainer_->model().parameters().held_master(slot_);
  if (part.values.size() > 0) {
    const DeviceFloats own("parameter", static_cast<std::size_t>(part.values.size()));
    const auto first = static_cast<std::size_t>(part.first);
    Kokkos::deep_copy(own, Kokkos::subview(all, std::pair(first, first + own.size())));
    convert(exec, ConstTensor(own.data(), DType::fp32, 1, part.values.size()), part.values);
  }
  trainer_->refresh_weights();
  trainer_->communicator().synchronize(exec);
}

std::vector<NetworkParameter> OnlineTrainer::parameters() {
  Trainer& trainer = *parts_->assembly.trainer;
  const ParameterLayout& layout = trainer.model().parameters().layout();
  std::vector<NetworkParameter> all;
  for (const auto& slots : layout.slots_of_block) {
    for (const std::size_t index : slots) {
      const ParameterSlot& slot = layout.slots[index];
      all.push_back({trainer, slot.path(), index, slot.spec.rows, slot.spec.columns});
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
  fail_input(ErrorId::unknown_name, "the network has no parameter '{}'; it has {}", printable(name), names);
}

}  // namespace mylos
