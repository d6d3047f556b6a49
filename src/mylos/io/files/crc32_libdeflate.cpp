#include <libdeflate.h>

#include "mylos/io/files/digest.hpp"

namespace mylos {

std::uint32_t crc32_of(const void* data, std::size_t bytes, std::uint32_t crc) {
  return bytes == 0 ? crc : libdeflate_crc32(crc, data, bytes);  // a null pointer would reset the value
}

}  // namespace mylos
