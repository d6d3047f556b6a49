// Helpers of the rank tests of the comm room: a communicator over all ranks, and numbers that every rank can
// compute.
#pragma once

#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "support/device_values.hpp"
#include "support/device_views.hpp"

namespace mylos::test {

inline std::unique_ptr<Communicator> all_ranks(double timeout_s = 60) {
  CommunicationOptions options;
  options.timeout_s = timeout_s;
  return make_communicator(MPI_COMM_WORLD, options);
}

/// Slots for buffers of so many bytes of any type.
inline std::vector<SlotBytes> slots_of(std::initializer_list<std::size_t> bytes) {
  std::vector<SlotBytes> slots;
  for (const std::size_t of_slot : bytes) slots.push_back({of_slot, of_slot});
  return slots;
}

/// One slot.
inline void reserve(Communicator& communicator, std::size_t bytes) {
  communicator.reserve(slots_of({bytes}));
}

/// Returns the value of `rank` at `index`. Signs and magnitudes vary, so that a float sum depends on its
/// order.
inline float contribution(int rank, std::size_t index) {
  std::uint64_t bits =
      (static_cast<std::uint64_t>(rank) << 40 | index) * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
  bits ^= bits >> 29;
  bits *= 0xbf58476d1ce4e5b9ull;
  const float mantissa = 1.0f + static_cast<float>(bits >> 41 & 0x7fffff) * 0x1p-23f;
  const int exponent = static_cast<int>(bits >> 3 & 15) - 8;
  return (bits & 1) != 0 ? -std::ldexp(mantissa, exponent) : std::ldexp(mantissa, exponent);
}

/// Returns a buffer of ranks · slice elements: this rank's contributions, then zeros as padding.
template <class T>
Kokkos::View<T*, Device> contributions(const Communicator& communicator, std::size_t count) {
  const std::size_t padded =
      slice_length(count, communicator.size()) * static_cast<std::size_t>(communicator.size());
  std::vector<T> values(padded, from_float<T>(0));
  for (std::size_t i = 0; i < count; ++i) values[i] = from_float<T>(contribution(communicator.rank(), i));
  return on_device(values);
}

}  // namespace mylos::test
