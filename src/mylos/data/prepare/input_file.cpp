#include "mylos/data/prepare/input_file.hpp"

#include <cerrno>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {

InputFile::InputFile(const std::string& path) : path_(path) {
  require_regular_file(path);
  file_.open(path, std::ios::binary);
  if (!file_) fail_input(errors::cannot_read, "{}: cannot be opened: {}", path, std::strerror(errno));
  bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (bytes_ == 0) fail_input(errors::too_little_data, "{}: is empty", path);
}

std::int64_t InputFile::read(void* destination, std::int64_t bytes) {
  file_.read(static_cast<char*>(destination), bytes);
  if (file_.bad()) fail_input(errors::cannot_read, "{}: cannot be read", path_);
  return file_.gcount();
}

void InputFile::seek(std::int64_t offset) {
  file_.clear();
  file_.seekg(offset);
}

}  // namespace mylos
