#include "mylos/io/digest.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "mylos/base/error.hpp"

namespace mylos {

std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::int64_t second_bytes) {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

std::string sha256_of_file(const std::string& path, std::int64_t offset) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file || std::fseek(file.get(), static_cast<long>(offset), SEEK_SET) != 0) {
    fail_input("{}: cannot be read: {}", path, std::strerror(errno));
  }
  std::vector<unsigned char> piece(std::size_t{1} << 20);
  Sha256 digest;
  while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), file.get())) {
    digest.update(piece.data(), bytes);
  }
  if (std::ferror(file.get()) != 0) fail_input("{}: cannot be read: {}", path, std::strerror(errno));
  return digest.finish();
}

}  // namespace mylos
