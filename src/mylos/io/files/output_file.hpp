// OutputFile: a file that is open to be written, of which every call is checked.
//
// A disk reports an error of a write at the write, at the flush (fsync), or when the file is closed; network
// file systems report it only then. What takes none of the three answers for granted knows that the bytes are
// there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mylos {

/// Throws Error (failed, cannot-write) that names the file and the cause: that the disk is full, the number
/// of the error in words, the limit of a file's size.
[[noreturn]] void fail_to_write(const std::string& path, int error);

/// Writes all bytes at this offset. Returns 0, or the number of the error.
[[nodiscard]] int write_all(int descriptor, const void* data, std::int64_t bytes, std::int64_t offset);

/// Opens a regular file with these flags of open(2). Links are not followed, and what is no file is refused
/// without waiting for it: to open a pipe may be to wait for ever. Returns -1 if there is no such file.
/// Throws Error: not-a-file for a link, pipe, socket or device; cannot-read or cannot-write for the rest,
/// with the name `shown`
/// ("": the path).
[[nodiscard]] int open_regular(const std::string& path, int flags, std::string_view shown = {});

/// Returns the contents of a regular file, opened by open_regular(); nothing if there is no such file. Throws
/// Error also if it has more than `max_bytes`.
[[nodiscard]] std::optional<std::string> text_of_file(const std::string& path, std::int64_t max_bytes);

/// Returns whether there is such a file, without opening it. Throws Error (not-a-file) for a link, pipe,
/// socket or device.
[[nodiscard]] bool is_regular(const std::string& path);

/// Waits until the contents of a file are on disk.
void sync_file(const std::string& path);

class OutputFile {
 public:
  /// Opens the file with these flags of open(2), and as open_regular() does. Throws Error (failed) also if
  /// there is no such file; so does every other function if the disk refuses. `shown` is the name in
  /// messages.
  OutputFile(const std::string& path, int flags, std::string shown);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes at an offset; append() at the end of the file, as it was opened and written by this object.
  void write(std::int64_t offset, std::string_view bytes);
  void append(std::string_view bytes);
  template <class T>
  void append(std::span<const T> values) {
    append(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }
  /// Fills `bytes` from this offset on. Requires O_RDWR.
  void read(std::int64_t offset, std::span<char> bytes) const;
  void truncate(std::int64_t bytes);
  /// Waits until the contents are on disk.
  void sync();
  /// Closes the file. The destructor does so too, without asking whether that worked.
  void close();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string shown_;
  int descriptor_;
  std::int64_t end_ = 0;  // of the file
};

}  // namespace mylos
