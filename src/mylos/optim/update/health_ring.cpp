#include "mylos/optim/update/health_ring.hpp"

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/device_array_views.hpp"
#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

HealthRing::HealthRing(std::int64_t records, const ParameterLayout& layout)
    : count_(records),
      parameters_(static_cast<std::int64_t>(layout.slots.size())),
      records_(make_device_array<ParameterHealth>("health records",
                                                  static_cast<std::size_t>(records) * layout.slots.size())),
      blocks_(make_device_array<ParameterHealth>("health blocks", UpdatePass::max_blocks(layout))) {}

std::size_t HealthRing::memory_bytes(std::int64_t records, const ParameterLayout& layout) {
  if (records == 0) return 0;
  const std::size_t of_records = static_cast<std::size_t>(records) * layout.slots.size();
  return (of_records + UpdatePass::max_blocks(layout)) * sizeof(ParameterHealth);
}

std::vector<ParameterHealth> HealthRing::read(const Execution& exec, std::int64_t index) const {
  std::vector<ParameterHealth> values(static_cast<std::size_t>(parameters_));
  exec.fence();
  Kokkos::deep_copy(Kokkos::View<ParameterHealth*, Kokkos::HostSpace>(values.data(), values.size()),
                    Kokkos::View<const ParameterHealth*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                        record(index), values.size()));
  return values;
}

}  // namespace mylos
