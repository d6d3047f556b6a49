#include "mylos/io/files/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/io/files/output_file.hpp"

namespace mylos {
namespace {

constexpr const char* ending = "ending";
constexpr std::int64_t max_bytes = 4096;
constexpr std::size_t text_bytes = 320;  // the longest host name (255) and the rest

std::string this_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on {}", getpid(), host.data());
}

}  // namespace

FolderLock::Attempt FolderLock::try_to_take(bool make) {
  for (;;) {
    if (descriptor_ < 0 && !open_file(make)) return Attempt::absent;
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EBADF && reopen_for_writing()) continue;
      return errno == EWOULDBLOCK ? Attempt::held : Attempt::taken;  // otherwise the file system has no locks
    }
    if (is_still_there()) return Attempt::taken;
    close_file();  // the folder was deleted meanwhile: other processes would lock another file
  }
}

/// Opens the lock file, creating it if `make` is set. Returns false if it does not exist and `make` is not
/// set.
bool FolderLock::open_file(bool make) {
  std::error_code failure;
  if (make) std::filesystem::create_directories(folder_, failure);
  // Opened read-only: a file open for writing would prevent an administrator from remounting the disk
  // read-only.
  descriptor_ = open_regular(path_, O_RDONLY | (make ? O_CREAT : 0), folder_ + ": the run's folder");
  if (descriptor_ < 0 && make) fail_to_write(folder_, failure ? failure.value() : ENOENT);
  return descriptor_ >= 0;
}

/// Reopens the file for writing, once: NFS requires write access for an exclusive lock.
bool FolderLock::reopen_for_writing() {
  if ((::fcntl(descriptor_, F_GETFL) & O_ACCMODE) == O_RDWR) return false;
  const int writable = ::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (writable < 0) return false;
  close_file();
  descriptor_ = writable;
  return true;
}

bool FolderLock::is_still_there() const {
  struct stat own {};
  struct stat found {};
  if (::fstat(descriptor_, &own) != 0 || ::lstat(path_.c_str(), &found) != 0) return false;
  return own.st_dev == found.st_dev && own.st_ino == found.st_ino;
}

void FolderLock::replace_dead_holder() {
  struct stat found {};
  if (::fstat(descriptor_, &found) == 0 && found.st_size > 0) name_holder(false);
}

FolderLock::Holder FolderLock::holder() const {
  Holder holder;
  std::istringstream text(text_of_file(path_, max_bytes).value_or(""));
  std::getline(text, holder.name);
  if (holder.name.empty()) holder.name = "another process";
  std::string word;
  holder.is_ending = static_cast<bool>(text >> word) && word == ending;
  return holder;
}

/// Writes the name in one write that covers the whole text of an earlier process, so that readers never see a
/// mixture.
void FolderLock::name_holder(bool is_ending) {
  std::string text = fmt::format("{}\n{}", this_process(), is_ending ? ending : "");
  text.resize(std::max(text.size(), text_bytes), ' ');
  const int file = ::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  is_named_ = ::pwrite(file, text.data(), text.size(), 0) > 0;
  ::close(file);
}

void FolderLock::close_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

FolderLock::~FolderLock() {
  // Clears the name, so that the next holder is not mistaken for this process. A deleted file is not created
  // again.
  const int file = is_named_ ? ::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
  if (file >= 0) {
    if (::ftruncate(file, 0) != 0) errno = 0;
    ::close(file);
  }
  close_file();
}

}  // namespace mylos
