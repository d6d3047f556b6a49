// InputFile: a plain file that is read sequentially in pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace mylos {

class InputFile {
 public:
  /// Throws Error (bad_input) if it is missing, empty or not a file.
  explicit InputFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name() const { return std::filesystem::path(path_).filename().string(); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Reads up to `bytes` bytes; fewer only at the end of the file.
  [[nodiscard]] std::int64_t read(void* destination, std::int64_t bytes);
  void seek(std::int64_t offset);

 private:
  std::string path_;
  std::ifstream file_;
  std::int64_t bytes_ = 0;
};

}  // namespace mylos
