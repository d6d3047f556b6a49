#include "mylos/model/chain/buffers.hpp"

#include "mylos/base/device/pieces.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {
namespace {

/// Returns the number of elements of all buffers of a role.
std::int64_t size_of_all(const Chain& chain, BufferRole role) {
  std::int64_t size = 0;
  for (const auto& block : chain.blocks) {
    for (const BufferSpec& spec : block->buffers()) size += spec.role == role ? spec.size : 0;
  }
  return size;
}

/// The sums are contiguous, so that one exchange covers all of them; the other buffers follow.
struct BufferPieces {
  BufferPieces(const Chain& chain, void* memory) : pieces(memory) {
    if (const std::int64_t count = size_of_all(chain, BufferRole::sum); count > 0)
      sums = pieces.take_tensor(DType::fp64, 1, count);
  }

  Pieces pieces;
  Tensor sums;
};

}  // namespace

std::size_t BufferStore::sum_bytes(const Chain& chain) {
  return static_cast<std::size_t>(size_of_all(chain, BufferRole::sum)) * sizeof(double);
}

std::size_t BufferStore::state_bytes(const Chain& chain) {
  return static_cast<std::size_t>(size_of_all(chain, BufferRole::state)) * sizeof(float);
}

std::size_t BufferStore::memory_bytes(const Chain& chain) {
  BufferPieces own(chain, nullptr);
  for (const auto& block : chain.blocks) {
    for (const BufferSpec& spec : block->buffers()) {
      if (spec.role != BufferRole::sum) own.pieces.take_tensor(spec.type, 1, spec.size);
    }
  }
  own.pieces.take<float>(static_cast<std::int64_t>(chain.head->constants().size()));
  return own.pieces.bytes();
}

BufferStore::BufferStore(const Chain& chain) {
  const std::size_t bytes = memory_bytes(chain);
  if (bytes == 0) return;
  arena_ = Arena("buffers", bytes);
  BufferPieces own(chain, arena_.data());
  sums_ = own.sums;
  const Execution exec;
  std::int64_t first_sum = 0;
  for (const auto& block : chain.blocks) {
    std::vector<NamedTensor>& tensors = blocks_.emplace_back();
    for (const BufferSpec& spec : block->buffers()) {
      if (spec.role == BufferRole::sum) {
        tensors.emplace_back(spec.name, sums_.elements(first_sum, spec.size));
        first_sum += spec.size;
        continue;
      }
      const Tensor values = own.pieces.take_tensor(spec.type, 1, spec.size);
      tensors.emplace_back(spec.name, values);
      if (spec.role != BufferRole::state) continue;
      fill(exec, values, spec.initial_value);
      state_.push_back({block->signature().name + "/" + spec.name, values});
    }
  }
  if (const std::span<const float> constants = chain.head->constants(); !constants.empty()) {
    auto* const place = own.pieces.take<float>(static_cast<std::int64_t>(constants.size()));
    using OnHost = Kokkos::View<const float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    using OnDevice = Kokkos::View<float*, Device, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(exec, OnDevice(place, constants.size()), OnHost(constants.data(), constants.size()));
    constants_ = place;
  }
  exec.fence();
}

}  // namespace mylos
