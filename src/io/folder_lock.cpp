#include "mylos/io/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "mylos/base/error.hpp"
#include "mylos/base/seconds_since.hpp"

namespace mylos {
namespace {

std::string this_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on {}", getpid(), host.data());
}

std::string owner_of(const std::string& path) {
  std::string owner;
  std::getline(std::ifstream(path), owner);
  return owner.empty() ? "another process" : owner;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, double patience_s) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::string path = folder + "/lock";
  // Read-only: a file open for writing would keep an administrator from making the disk read-only. NFS wants
  // to write for a lock that excludes others.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail_run("{}: the run's folder cannot be made or written: {}", folder,
             failure ? failure.message() : std::strerror(errno));
  }
  const auto start = std::chrono::steady_clock::now();
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EBADF && reopen(path)) continue;
    if (errno != EWOULDBLOCK) return;  // no locks here
    if (seconds_since(start) > patience_s) {
      ::close(descriptor_);
      fail_input("{}: {} works in this folder; wait for its end, or give another run.folder", folder,
                 owner_of(path));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::ofstream(path, std::ios::trunc) << this_process() << '\n';
}

/// For writing, once.
bool FolderLock::reopen(const std::string& path) {
  if ((::fcntl(descriptor_, F_GETFL) & O_ACCMODE) == O_RDWR) return false;
  const int writable = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (writable < 0) return false;
  ::close(descriptor_);
  descriptor_ = writable;
  return true;
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace mylos
