#include "mylos/io/system/energy_counter.hpp"

namespace mylos {

std::optional<std::int64_t> device_energy_mj() {
  return std::nullopt;
}

}  // namespace mylos
