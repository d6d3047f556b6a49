// Atomic publication of files: a file is written as NAME.tmp, synchronised to disk, then renamed, so that
// readers find a complete file or none. Every file that Mylos writes is written like this, except for the
// tables and logs of a run, to which rows are appended (OutputFile).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mylos/io/files/output_file.hpp"

namespace mylos {

/// Returns the temporary name under which `path` is written: path + ".tmp", in the same folder.
[[nodiscard]] std::string temporary_path(const std::string& path);

/// Reserves disk space for `bytes` bytes of an existing file, so that writing them cannot fail for lack of
/// space. Throws Error (failed) whose message states the space needed and the space free or allowed.
void reserve_space(const std::string& path, std::int64_t bytes);

/// Waits until the entries of the folder are on disk.
void sync_folder(const std::string& folder);

/// Throws Error (bad_input) if writing `output` would replace `input`: if both names refer to one file, or
/// `input` and temporary_path(output) do.
void require_other_file(const std::string& input, const std::string& output);

/// A file being written. The constructor creates its folder and an empty file temporary_path(path), replacing
/// the temporary file of an earlier process. The destructor removes the temporary file unless publish() was
/// called, so that a failure leaves no files.
class PendingFile {
 public:
  /// Throws Error: bad_input if `path` is a folder, if something other than a file has the temporary name, or
  /// if the name is too long for the file system; failed if folder or file cannot be created. In these cases
  /// nothing is removed.
  explicit PendingFile(std::string path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  /// The temporary file. It is open from the beginning, so that an error of writes that others make through
  /// the name is reported to it too.
  [[nodiscard]] OutputFile& file() { return *file_; }
  /// Waits until the contents are on disk, and gives the file its name, replacing an older one atomically.
  /// Others must have closed it.
  void publish();

 private:
  std::string path_;
  std::string temporary_;
  std::optional<OutputFile> file_;
  bool published_ = false;
};

/// Writes a text file atomically. Throws Error if it cannot be written; an older file then stays unchanged.
void publish_text(const std::string& path, std::string_view text);

}  // namespace mylos
