// FolderLock: this process alone works in a folder.
#pragma once

#include <string>

namespace mylos {

/// Held from its making to its end, however the process ends; the file FOLDER/lock, which says who has it,
/// stays. File systems that know no locks let everybody in.
class FolderLock {
 public:
  /// Makes the folder where it is not there. Waits up to `patience_s` for a process that may be ending, then
  /// throws Error (bad_input) that names it.
  FolderLock(const std::string& folder, double patience_s);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  bool reopen(const std::string& path);

  int descriptor_ = -1;
};

}  // namespace mylos
