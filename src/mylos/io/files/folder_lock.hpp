// FolderLock: exclusive use of a folder by this process.
#pragma once

#include <string>

namespace mylos {

/// A lock on the file FOLDER/lock, which names the process that holds it. The lock ends with this object, or
/// with the process in any way; the file stays. On file systems without locks every process obtains the lock.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : folder_(folder), path_(folder + "/lock") {}
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  enum class Attempt {
    taken,
    held,    // by another process: see holder()
    absent,  // no process has used this folder before
  };
  /// Tries to take the lock without waiting. Writes nothing, unless `make` is set: then it creates a missing
  /// folder and lock file, and throws Error (failed) if it cannot.
  [[nodiscard]] Attempt try_to_take(bool make);

  struct Holder {
    std::string name;        // "process 1234 on node7"
    bool is_ending = false;  // it has ended training and only writes its last files: wait for it
  };
  /// Returns the process that last wrote its name to the file.
  [[nodiscard]] Holder holder() const;
  /// Writes this process's name to the file. Called by the process that has taken the lock.
  void name_holder(bool is_ending);
  /// Does the same, but only if the file still names a process that was killed; other processes would wait
  /// for it.
  void replace_dead_holder();

 private:
  bool open_file(bool make);
  bool reopen_for_writing();
  [[nodiscard]] bool is_still_there() const;
  void close_file();

  std::string folder_;
  std::string path_;
  int descriptor_ = -1;
  bool is_named_ = false;
};

}  // namespace mylos
