#include "mylos/base/errors/regular_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {

void require_regular_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const int cause = errno;
    if (path == "-")
      fail_input(errors::not_a_file,
                 "-: standard input is not read; write it to a file first, and name that");
    fail_input(cause == ENOENT || cause == ENOTDIR ? errors::no_such_file : errors::cannot_read,
               "{}: cannot be opened: {}{}", path, std::strerror(cause), current_folder_note(path));
  }
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
    fail_input(errors::not_a_file,
               "{}: is a pipe, which can be read only once; write it to a file first, and name that", path);
  }
  if (!S_ISREG(status.st_mode)) fail_input(errors::not_a_file, "{}: is not a file", path);
  if (::access(path.c_str(), R_OK) != 0)
    fail_input(errors::cannot_read, "{}: cannot be opened: {}", path, std::strerror(errno));
}

}  // namespace mylos
