#include "mylos/base/errors/file_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16;

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    const int cause = errno;
    if (descriptor_ < 0)
      fail_input(cause == ENOENT || cause == ENOTDIR ? errors::no_such_file : errors::cannot_read,
                 "{}: cannot be opened: {}{}", path, std::strerror(cause), current_folder_note(path));
  }
  ~Descriptor() { ::close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

std::string file_text(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    fail_input(errors::not_a_file, "{}: is not a file", path);
  std::string text;
  while (text.size() < max_bytes) {
    const std::size_t before = text.size();
    const std::size_t wanted = std::min(piece_bytes, max_bytes - before);
    text.resize(before + wanted);
    const ::ssize_t found = ::read(file.get(), text.data() + before, wanted);
    const int cause = errno;
    text.resize(before + static_cast<std::size_t>(std::max<::ssize_t>(0, found)));
    if (found == 0) break;
    if (found < 0 && cause != EINTR)
      fail_input(errors::cannot_read, "{}: cannot be read: {}", path, std::strerror(cause));
  }
  return text;
}

void require_read(const std::ifstream& file, const std::string& path) {
  std::error_code failure;
  const bool is_unopened = !file.is_open() && std::filesystem::exists(path, failure);
  if (file.bad() || is_unopened) fail_input(errors::cannot_read, "{}: cannot be read", path);
}

}  // namespace mylos
