#include <zlib.h>

#include "mylos/io/files/digest.hpp"

namespace mylos {

std::uint32_t crc32_of(const void* data, std::size_t bytes, std::uint32_t crc) {
  // crc32_z takes a size_t length (crc32 only 32 bits); a null pointer would reset the value.
  if (bytes == 0) return crc;
  return static_cast<std::uint32_t>(::crc32_z(crc, static_cast<const Bytef*>(data), bytes));
}

}  // namespace mylos
