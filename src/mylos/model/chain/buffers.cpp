#include "mylos/model/chain/buffers.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "mylos/base/pieces.hpp"
#include "mylos/base/tensor_views.hpp"
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

/// Returns the constants of all blocks, each once.
std::vector<BufferSpec> constants_of_blocks(const Chain& chain) {
  std::vector<BufferSpec> all;
  for (const auto& block : chain.blocks) {
    for (BufferSpec& spec : block->buffers()) {
      if (spec.role != BufferRole::constant) continue;
      const auto has_name = [&](const BufferSpec& other) { return other.name == spec.name; };
      if (std::none_of(all.begin(), all.end(), has_name)) all.push_back(std::move(spec));
    }
  }
  return all;
}

/// Enqueues a copy of values on the host; the target has their number of elements.
template <class T>
void copy_from_host(const Execution& exec, const T* values, const Tensor& target) {
  using OnHost = Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, target.flat<T>(), OnHost(values, static_cast<std::size_t>(target.size())));
}

/// Computes and copies the constant piece by piece: the host holds at most 2 MiB of it, however large it is.
void set_constant(const Execution& exec, const BufferSpec& spec, const Tensor& target) {
  constexpr std::int64_t most = std::int64_t{1} << 18;
  const auto capacity = static_cast<std::size_t>(std::min(most, spec.size));
  std::vector<float> numbers(capacity);
  dispatch(spec.type, [&]<class T>(TypeTag<T>) {
    std::vector<T> rounded(capacity);
    for (std::int64_t first = 0; first < spec.size; first += most) {
      const auto count = static_cast<std::size_t>(std::min(most, spec.size - first));
      spec.values(first, std::span(numbers).first(count));
      std::transform(numbers.data(), numbers.data() + count, rounded.data(), from_float<T>);
      copy_from_host(exec, rounded.data(), target.elements(first, static_cast<std::int64_t>(count)));
      exec.fence();  // before the host's copy changes
    }
  });
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

/// Returns whether the buffer lies among those of its block, not in BufferPieces.
bool is_of_block(const BufferSpec& spec) {
  return spec.role != BufferRole::sum && spec.role != BufferRole::constant;
}

}  // namespace

std::size_t BufferStore::sum_bytes(const Chain& chain) {
  return static_cast<std::size_t>(size_of_all(chain, BufferRole::sum)) * sizeof(double);
}

std::size_t BufferStore::constant_bytes(const Chain& chain) {
  Pieces pieces(nullptr);
  for (const BufferSpec& spec : constants_of_blocks(chain)) pieces.take_tensor(spec.type, 1, spec.size);
  return pieces.bytes();
}

std::size_t BufferStore::state_bytes(const Chain& chain) {
  return static_cast<std::size_t>(size_of_all(chain, BufferRole::state)) * sizeof(float);
}

std::size_t BufferStore::block_bytes(const Chain& chain) {
  BufferPieces own(chain, nullptr);
  for (const auto& block : chain.blocks) {
    for (const BufferSpec& spec : block->buffers()) {
      if (is_of_block(spec)) own.pieces.take_tensor(spec.type, 1, spec.size);
    }
  }
  own.pieces.take<float>(static_cast<std::int64_t>(chain.head->constants().size()));
  return own.pieces.bytes();
}

std::size_t BufferStore::memory_bytes(const Chain& chain) {
  return block_bytes(chain) + constant_bytes(chain);
}

PartMemory BufferStore::memory(const Chain& chain) {
  return {{"statistics, class weights", block_bytes(chain)},
          {"matrices of transforms", constant_bytes(chain)}};
}

/// Computes the constants of all blocks in their arena.
std::vector<NamedTensor> BufferStore::set_constants(const Execution& exec, const Chain& chain) {
  std::vector<NamedTensor> constants;
  const std::vector<BufferSpec> specs = constants_of_blocks(chain);
  if (specs.empty()) return constants;
  constants_arena_ = Arena("matrices of transforms", constant_bytes(chain));
  Pieces pieces(constants_arena_.data());
  for (const BufferSpec& spec : specs) {
    constants.emplace_back(spec.name, pieces.take_tensor(spec.type, 1, spec.size));
    set_constant(exec, spec, constants.back());
  }
  return constants;
}

BufferStore::BufferStore(const Chain& chain) {
  if (memory_bytes(chain) == 0) return;
  const Execution exec;
  const std::vector<NamedTensor> shared = set_constants(exec, chain);
  if (const std::size_t bytes = block_bytes(chain); bytes > 0) arena_ = Arena("buffers", bytes);
  BufferPieces own(chain, arena_.data());
  sums_ = own.sums;
  std::int64_t first_sum = 0;
  for (const auto& block : chain.blocks) {
    std::vector<NamedTensor>& tensors = blocks_.emplace_back();
    for (const BufferSpec& spec : block->buffers()) {
      if (spec.role == BufferRole::sum) {
        tensors.emplace_back(spec.name, sums_.elements(first_sum, spec.size));
        first_sum += spec.size;
        continue;
      }
      if (spec.role == BufferRole::constant) {
        tensors.emplace_back(spec.name, ParameterTensors(shared)[spec.name]);
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
    const Tensor copy = own.pieces.take_tensor(DType::fp32, 1, static_cast<std::int64_t>(constants.size()));
    copy_from_host(exec, constants.data(), copy);
    constants_ = copy.as<float>();
  }
  exec.fence();
}

}  // namespace mylos
