#include "mylos/data/files/host_array.hpp"

#include <Kokkos_Core.hpp>

namespace mylos {
namespace {

template <class Space>
std::shared_ptr<std::byte> allocate(const std::string& label, std::int64_t bytes) {
  const Kokkos::View<std::byte*, Space> view(Kokkos::view_alloc(label, Kokkos::WithoutInitializing),
                                             static_cast<std::size_t>(bytes));
  return {view.data(), [view](std::byte*) {}};
}

}  // namespace

std::shared_ptr<std::byte> uninitialised_memory(const std::string& label, std::int64_t bytes,
                                                HostMemory memory) {
  return memory == HostMemory::page_locked ? allocate<Kokkos::SharedHostPinnedSpace>(label, bytes)
                                           : allocate<Kokkos::HostSpace>(label, bytes);
}

}  // namespace mylos
