#include "mylos/checkpoint/file/widened_values.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

// Elements converted at a time: enough to amortise the fixed cost of a copy from a device, and so few that
// this memory need not be counted.
constexpr std::int64_t max_at_once = 65536;

using HostBytes = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using DeviceBytes = Kokkos::View<std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

bool is_near(const StateArray& array) {
  return memory_is_host || !array.on_device;
}

/// Returns the address of the piece's element `first`.
std::byte* address_of(const StateArray& array, const StatePiece& piece, std::int64_t first) {
  return static_cast<std::byte*>(piece.data) + array.memory_bytes_of(first);
}

/// Calls use(first, count, host memory of these elements) until the complete piece is processed. Writers run
/// on their own threads, which launch no kernels.
template <class Use>
void for_parts(const StateArray& array, const StatePiece& piece, bool comes_from_device, bool goes_there,
               const Use& use) {
  std::vector<std::byte> host(is_near(array) ? 0
                                             : static_cast<std::size_t>(array.memory_bytes_of(max_at_once)));
  for (std::int64_t done = 0; done < piece.count; done += max_at_once) {
    const std::int64_t length = std::min(max_at_once, piece.count - done);
    const auto bytes = static_cast<std::size_t>(array.memory_bytes_of(length));
    std::byte* const own = address_of(array, piece, done);
    if (is_near(array)) {
      use(done, length, own);
      continue;
    }
    if (comes_from_device) Kokkos::deep_copy(HostBytes(host.data(), bytes), DeviceBytes(own, bytes));
    use(done, length, host.data());
    if (goes_there) Kokkos::deep_copy(DeviceBytes(own, bytes), HostBytes(host.data(), bytes));
  }
}

}  // namespace

void widen(const StateArray& array, const StatePiece& piece, float* floats) {
  for_parts(array, piece, true, false, [&](std::int64_t first, std::int64_t count, const std::byte* bytes) {
    dispatch(*array.memory_type, [&]<class T>(TypeTag<T>) {
      const T* values = reinterpret_cast<const T*>(bytes);
      for (std::int64_t i = 0; i < count; ++i) floats[first + i] = to_float(values[i]);
    });
  });
}

void widen_bytes(const StateArray& array, const StatePiece& piece, std::int64_t first, std::int64_t count,
                 std::byte* bytes) {
  constexpr auto width = static_cast<std::int64_t>(sizeof(float));
  std::vector<float> floats(static_cast<std::size_t>(max_at_once));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t element = (first + done) / width;
    const std::int64_t skipped = (first + done) % width;
    const std::int64_t needed = (skipped + count - done + width - 1) / width;
    const std::int64_t elements = std::min(max_at_once, needed);
    const std::int64_t length = std::min(elements * width - skipped, count - done);
    widen(array, {piece.first + element, elements, address_of(array, piece, element)}, floats.data());
    std::memcpy(bytes + done, reinterpret_cast<const std::byte*>(floats.data()) + skipped,
                static_cast<std::size_t>(length));
    done += length;
  }
}

void round_into(const StateArray& array, const StatePiece& piece, const float* floats) {
  for_parts(array, piece, false, true, [&](std::int64_t first, std::int64_t count, std::byte* bytes) {
    dispatch(*array.memory_type, [&]<class T>(TypeTag<T>) {
      T* values = reinterpret_cast<T*>(bytes);
      for (std::int64_t i = 0; i < count; ++i) values[i] = from_float<T>(floats[first + i]);
    });
  });
}

}  // namespace mylos
