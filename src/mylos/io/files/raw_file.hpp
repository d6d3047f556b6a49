// RawFile: reads and writes a file in large pieces, bypassing the page cache if the file system supports it
// (O_DIRECT).
//
// A checkpoint is written once and seldom read. Writing it through the cache costs processor time for copies
// into newly allocated pages, which is most of what an asynchronous checkpoint takes from a step. Reading
// past the cache verifies what is on disk instead of what is cached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mylos {

class RawFile {
 public:
  enum class Access { read, write };
  enum class Cache { use, bypass };

  /// Bytes transferred at a time.
  static constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

  /// Opens an existing file. Throws Error (failed) if it cannot be opened; write() and read() throw it if the
  /// file cannot be written or read.
  RawFile(std::string path, Access access, Cache cache);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// Called for each piece of a write: fills `buffer` with the bytes [first, first + bytes) of the data.
  using Fill = std::function<void(std::byte* buffer, std::int64_t first, std::int64_t bytes)>;
  /// Called for consecutive pieces of the data read.
  using Use = std::function<void(const std::byte* data, std::int64_t bytes)>;

  /// Writes `bytes` bytes at `offset`. Requires Access::write.
  void write(std::int64_t offset, std::int64_t bytes, const Fill& fill);
  /// Ends the writes: waits until they are on disk, and closes the file. Where each host has a page cache of
  /// its own, only the process that wrote can do this.
  void finish();
  /// Reads from byte `first` to the end of the file.
  void read(std::int64_t first, const Use& use);

 private:
  void write_piece(std::int64_t offset, const std::byte* data, std::int64_t bytes);
  [[nodiscard]] std::int64_t read_piece(std::int64_t offset);

  struct Free {
    void operator()(std::byte* memory) const;
  };

  std::string path_;
  std::unique_ptr<std::byte, Free> buffer_;
  int cached_ = -1;  // descriptors
  int direct_ = -1;  // -1: the file system has no direct access
};

}  // namespace mylos
