// Files that appear whole or not at all: written as NAME.tmp, brought to the disk, then renamed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mylos {

/// Where the file that will be `path` is written: path + ".tmp", in the same folder.
[[nodiscard]] std::string temporary_path(const std::string& path);

/// Reserves disk space for `bytes` bytes of an existing file, so that writing them cannot fail for lack of
/// it. Throws Error (failed) that says how much is needed and how much is free or allowed.
void reserve_space(const std::string& path, std::int64_t bytes);

/// Waits until the file's contents are on the disk.
void sync_file(const std::string& path);
/// Waits until the names in the folder are on the disk.
void sync_folder(const std::string& folder);

/// Brings `temporary_path(path)` to the disk and gives it its name; an older file of that name is replaced at
/// once.
void publish(const std::string& path);

/// Throws Error (bad_input) where what is read would be replaced: both names are of one file, or `input` and
/// temporary_path(output) are.
void require_other_file(const std::string& input, const std::string& output);

/// Makes the folder that the file is to lie in and an empty file temporary_path(path), in place of what an
/// earlier process left there. At the end of its life that is removed, unless publish() was called: what
/// fails leaves nothing behind.
class PendingFile {
 public:
  /// Throws Error: bad_input where `path` names a folder, something else than a file has that name, or the
  /// name is longer than the file system takes; failed where folder or file cannot be made. Nothing is
  /// removed then.
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
