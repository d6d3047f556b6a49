// FolderLock: this process alone works in a folder.
#pragma once

#include <string>

namespace mylos {

/// Held from its taking to its end, however the process ends; the file FOLDER/lock, which says who has it,
/// stays. File systems that know no locks let everybody in.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : folder_(folder), path_(folder + "/lock") {}
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  enum class Attempt {
    taken,
    held,    // by another process: holder()
    absent,  // no process has ever worked in this folder
  };
  /// Does not wait. Writes nothing, unless `make` makes the folder and the file where they are not there;
  /// throws Error (failed) where it cannot.
  [[nodiscard]] Attempt try_to_take(bool make);

  struct Holder {
    std::string name;        // "process 1234 on node7"
    bool is_ending = false;  // it will train no further: what it still writes is worth waiting for
  };
  /// Who has said last that the folder is his.
  [[nodiscard]] Holder holder() const;
  /// Of the one that has taken it: says so to all others.
  void name_holder(bool is_ending);
  /// Likewise, but only where the file still names one that was killed, for whom others would wait.
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
