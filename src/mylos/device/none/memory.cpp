#include "mylos/io/system/system_memory.hpp"

namespace mylos {

std::optional<std::int64_t> free_device_memory() {
  return std::nullopt;
}

std::optional<std::int64_t> used_device_memory() {
  return std::nullopt;
}

}  // namespace mylos
