#include "mylos/io/files/file_pieces.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include "mylos/base/errors/file_text.hpp"

namespace mylos {

bool read_in_pieces(const std::string& path, const std::function<void(std::string_view)>& take) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return false;
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::array<char, std::size_t{64} << 10> piece;
  while (file.read(piece.data(), piece.size()), file.gcount() > 0)
    take({piece.data(), static_cast<std::size_t>(file.gcount())});
  require_read(file, path);
  return true;
}

}  // namespace mylos
