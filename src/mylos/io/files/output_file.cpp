#include "mylos/io/files/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

[[noreturn]] void refuse_kind(const std::string& path) {
  std::error_code failure;
  const bool is_link = std::filesystem::is_symlink(path, failure);
  fail_input(errors::not_a_file, "{}: is {}, where a file belongs; remove it", path,
             is_link ? "a link, which is not followed" : "not a file");
}

}  // namespace

void fail_to_write(const std::string& path, int error) {
  if (error == EFBIG) {
    fail_run(
        errors::cannot_write,
        "{}: cannot be written: a file may not become as large here; `ulimit -f` shows and sets this limit",
        path);
  }
  fail_run(errors::cannot_write, "{}: cannot be written: {}", path,
           error == ENOSPC ? "the disk is full" : std::strerror(error));
}

int write_all(int descriptor, const void* data, std::int64_t bytes, std::int64_t offset) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ::ssize_t count = ::pwrite(descriptor, next, static_cast<std::size_t>(bytes), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;
    next += count;
    offset += count;
    bytes -= count;
  }
  return 0;
}

int open_regular(const std::string& path, int flags, std::string_view shown) {
  if (shown.empty()) shown = path;
  const int descriptor = ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  if (descriptor < 0) {
    const int cause = errno;
    struct stat status {};
    const bool is_there = ::lstat(path.c_str(), &status) == 0;
    if (is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) refuse_kind(path);
    if (cause == ENOENT || cause == ENOTDIR) return -1;
    if (writes) fail_to_write(std::string(shown), cause);
    fail_run(errors::cannot_read, "{}: cannot be opened: {}", shown, std::strerror(cause));
  }
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  refuse_kind(path);
}

bool is_regular(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    fail_run(errors::cannot_read, "{}: cannot be read: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) refuse_kind(path);
  return true;
}

void sync_file(const std::string& path) {
  OutputFile file(path, O_RDONLY, path);
  file.sync();
  file.close();
}

std::optional<std::string> text_of_file(const std::string& path, std::int64_t max_bytes) {
  const int descriptor = open_regular(path, O_RDONLY);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  std::string piece(std::size_t{64} << 10, '\0');
  ::ssize_t count = 0;
  do {
    count = ::read(descriptor, piece.data(), piece.size());
    if (count > 0) text.append(piece, 0, static_cast<std::size_t>(count));
  } while ((count > 0 && static_cast<std::int64_t>(text.size()) <= max_bytes) ||
           (count < 0 && errno == EINTR));
  const int cause = errno;
  ::close(descriptor);
  if (count < 0) fail_run(errors::cannot_read, "{}: cannot be read: {}", path, std::strerror(cause));
  if (static_cast<std::int64_t>(text.size()) > max_bytes)
    fail_input(errors::too_large, "{}: has more than {}", path, format_bytes(max_bytes));
  return text;
}

OutputFile::OutputFile(const std::string& path, int flags, std::string shown)
    : shown_(std::move(shown)), descriptor_(open_regular(path, flags, shown_)) {
  if (descriptor_ < 0) fail_to_write(shown_, ENOENT);
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) end_ = status.st_size;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::int64_t offset, std::string_view bytes) {
  const int error = write_all(descriptor_, bytes.data(), static_cast<std::int64_t>(bytes.size()), offset);
  if (error != 0) fail_to_write(shown_, error);
  end_ = std::max(end_, offset + static_cast<std::int64_t>(bytes.size()));
}

void OutputFile::append(std::string_view bytes) {
  write(end_, bytes);
}

void OutputFile::read(std::int64_t offset, std::span<char> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ::ssize_t count = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                                    offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail_run(errors::cannot_read, "{}: cannot be read: {}", shown_,
               count < 0 ? std::strerror(errno) : "it has become shorter");
    }
    done += static_cast<std::size_t>(count);
  }
}

void OutputFile::truncate(std::int64_t bytes) {
  if (::ftruncate(descriptor_, bytes) != 0) fail_to_write(shown_, errno);
  end_ = bytes;
}

void OutputFile::sync() {
  if (::fsync(descriptor_) != 0) fail_to_write(shown_, errno);
}

void OutputFile::close() {
  // Also after EINTR the descriptor is closed.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write(shown_, errno);
}

}  // namespace mylos
