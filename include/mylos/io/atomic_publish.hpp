// Files that appear whole or not at all: written as NAME.tmp, brought to the disk, then renamed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mylos {

/// Where the file that will be `path` is written: path + ".tmp", in the same folder.
[[nodiscard]] std::string temporary_path(const std::string& path);

/// Reserves disk space for `bytes` bytes of an existing file, so that writing them cannot fail for lack of
/// it. Throws Error (failed) that says how much is needed and how much is free.
void reserve_space(const std::string& path, std::int64_t bytes);

/// Waits until the file's contents are on the disk.
void sync_file(const std::string& path);
/// Waits until the names in the folder are on the disk.
void sync_folder(const std::string& folder);

/// Brings `temporary_path(path)` to the disk and gives it its name; an older file of that name is replaced at
/// once.
void publish(const std::string& path);

/// Throws Error (bad_input) where both names are of one file: what is read must not be replaced.
void require_other_file(const std::string& input, const std::string& output);

/// Makes the folder that the file is to lie in, and removes temporary_path(path) at the end of its life,
/// unless publish() was called: what fails leaves nothing behind.
class PendingFile {
 public:
  /// Throws Error (failed) where there is no such folder and it cannot be made, Error (bad_input) where
  /// something else than a file has that name, or the name is longer than the file system takes.
  explicit PendingFile(std::string path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  void publish();

 private:
  std::string path_;
  std::string temporary_;
  bool published_ = false;
};

/// A text file as a whole. Throws Error where it cannot be written; an older one stays as it is then.
void publish_text(const std::string& path, std::string_view text);

}  // namespace mylos
