#include "mylos/optim/update/parameter_health.hpp"

#include "mylos/base/device/arena.hpp"
#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

HealthRing::HealthRing(std::int64_t records, const ParameterLayout& layout)
    : records_("health records", static_cast<std::size_t>(records), layout.slots.size()),
      blocks_("health blocks", UpdatePass::max_blocks(layout)) {}

std::size_t HealthRing::memory_bytes(std::int64_t records, const ParameterLayout& layout) {
  if (records == 0) return 0;
  const std::size_t of_records = static_cast<std::size_t>(records) * layout.slots.size();
  return (of_records + UpdatePass::max_blocks(layout)) * sizeof(ParameterHealth);
}

std::vector<ParameterHealth> HealthRing::read(const Execution& exec, std::int64_t index) const {
  std::vector<ParameterHealth> record(records_.extent(1));
  exec.fence();
  Kokkos::deep_copy(Kokkos::View<ParameterHealth*, Kokkos::HostSpace>(record.data(), record.size()),
                    Kokkos::subview(records_, index, Kokkos::ALL));
  return record;
}

}  // namespace mylos
