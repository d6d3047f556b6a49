#include "mylos/io/files/atomic_publish.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Throws Error if `bytes` exceed the process's file size limit. The kernel ends a process that exceeds it
/// with a signal, without a message.
void require_within_limit(const std::string& path, std::int64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (static_cast<rlim_t>(bytes) <= limit.rlim_cur) return;
  fail_run(errors::cannot_write,
           "{}: the file needs {} ({} bytes), but a file may have at most {} bytes here; `ulimit -f` shows "
           "and sets this limit",
           path, format_bytes(bytes), bytes, limit.rlim_cur);
}

}  // namespace

std::string temporary_path(const std::string& path) {
  return path + ".tmp";
}

void reserve_space(const std::string& path, std::int64_t bytes) {
  require_within_limit(path, bytes);
  OutputFile file(path, O_RDWR, path);
  // The free space is checked first: some file systems allocate all free space before they report that it is
  // not enough.
  struct stat status {};
  struct statvfs disk {};
  if (::fstat(file.descriptor(), &status) != 0 || ::fstatvfs(file.descriptor(), &disk) != 0) {
    fail_run(errors::cannot_write, "{}: space cannot be reserved: {}", path, std::strerror(errno));
  }
  constexpr auto max_free = static_cast<double>(std::numeric_limits<std::int64_t>::max() / 2);
  const double reported_free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const auto free_bytes = static_cast<std::int64_t>(std::min(reported_free, max_free));
  const bool reports_size = disk.f_blocks > 0;  // 0 on ramfs and some network file systems
  const bool fits = !reports_size || bytes - static_cast<std::int64_t>(status.st_blocks) * 512 <= free_bytes;
  const int failure = fits ? ::posix_fallocate(file.descriptor(), 0, bytes) : ENOSPC;
  if (failure == ENOSPC) {
    fail_run(errors::cannot_write,
             "{}: the disk is full: the file needs {} ({} bytes), {} ({} bytes) are free in {}", path,
             format_bytes(bytes), bytes, format_bytes(free_bytes), free_bytes, folder_of(path));
  }
  if (failure != 0) {
    fail_run(errors::cannot_write, "{}: {} ({} bytes) cannot be reserved: {}", path, format_bytes(bytes),
             bytes, std::strerror(failure));
  }
  file.close();
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int failure = descriptor < 0 || ::fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (failure != 0) fail_to_write(folder, failure);
}

namespace {

/// Throws Error if the temporary name is too long for the file system. Errors of HDF5 or the file system
/// would name the temporary file, which the user did not specify.
void require_name_that_fits(const std::string& path) {
  constexpr long usual_limit = 255;
  // -1 if the folder does not exist yet.
  const long reported_limit = ::pathconf(folder_of(path).c_str(), _PC_NAME_MAX);
  const auto suffix = temporary_path("").size();
  const std::size_t max_length =
      static_cast<std::size_t>(reported_limit > 0 ? reported_limit : usual_limit) - suffix;
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.size() > max_length) {
    fail_input(errors::bad_argument,
               "{}: this file name has {} bytes, at most {} are possible ({} go to .tmp while it is written)",
               printable(name), name.size(), max_length, suffix);
  }
  if (path.size() + suffix >= PATH_MAX) {
    fail_input(errors::bad_argument, "{}: this path has {} bytes, at most {} are possible", printable(path),
               path.size(), PATH_MAX - 1 - suffix);
  }
}

void require_no_folder(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.empty() || name == "." || name == "..") {
    fail_input(errors::not_a_file, "{}: names a folder; name a file in it to write", path);
  }
}

/// Refuses what is there under the temporary name and no file: it belongs to somebody else, and the target of
/// a link may be any file. A regular file left by an earlier process is replaced.
void require_free(const std::string& path, const std::string& temporary) {
  std::error_code failure;
  const auto there = std::filesystem::symlink_status(temporary, failure);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    fail_run(errors::not_a_file,
             "{}: exists and is not a file; remove it, because {} is first written under this name",
             temporary, path);
  }
}

}  // namespace

PendingFile::PendingFile(std::string path) : path_(std::move(path)), temporary_(temporary_path(path_)) {
  if (path_.empty()) fail_input(errors::bad_argument, "the file to write has no name");
  require_name_that_fits(path_);
  require_no_folder(path_);
  std::error_code failure;
  const auto there = std::filesystem::status(path_, failure);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    fail_input(errors::not_a_file, "{}: exists and is not a file; name another", path_);
  }
  const std::filesystem::path folder = folder_of(path_);
  std::filesystem::create_directories(folder, failure);
  if (failure) fail_run(errors::cannot_write, "{}: its folder cannot be made: {}", path_, failure.message());
  require_free(path_, temporary_);
  file_.emplace(temporary_, O_RDWR | O_CREAT | O_TRUNC, path_);
}

void require_other_file(const std::string& input, const std::string& output) {
  std::error_code failure;  // if one of the files does not exist, this is set and the result is false
  if (std::filesystem::equivalent(input, output, failure)) {
    fail_input(errors::arguments_conflict, "{}: is the file that is read; name another file to write",
               output);
  }
  if (std::filesystem::equivalent(input, temporary_path(output), failure)) {
    fail_input(
        errors::arguments_conflict,
        "{}: is the file that is read, and {} is first written under this name; name another file to write",
        temporary_path(output), output);
  }
}

PendingFile::~PendingFile() {
  if (!published_) std::remove(temporary_.c_str());
}

void PendingFile::publish() {
  file_->sync();
  file_->close();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_run(errors::cannot_write, "{}: cannot be renamed to {}: {}", temporary_, path_,
             std::strerror(errno));
  }
  published_ = true;
  sync_folder(folder_of(path_));
}

void publish_text(const std::string& path, std::string_view text) {
  PendingFile pending(path);
  pending.file().append(text);
  pending.publish();
}

}  // namespace mylos
