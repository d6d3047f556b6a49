// RawFile: the bytes of a file, in large pieces, past the page cache where the file system can (O_DIRECT).
//
// A checkpoint is written once and seldom read: through the cache it costs the processor a copy into pages
// that must first be found, which is most of the time that it takes from a step beside it. Reading past the
// cache also shows what the disk holds, not what the cache remembers.
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

  /// What passes through memory at a time.
  static constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

  /// Of a file that is there. Throws Error (failed) where it cannot be opened, as the others do where it
  /// cannot be read or written.
  RawFile(std::string path, Access access, Cache cache);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// Called for each piece of a write: fills `buffer` with the bytes [first, first + bytes) of what is
  /// written.
  using Fill = std::function<void(std::byte* buffer, std::int64_t first, std::int64_t bytes)>;
  /// Called for consecutive pieces of what is read.
  using Use = std::function<void(const std::byte* data, std::int64_t bytes)>;

  /// With Access::write.
  void write(std::int64_t offset, std::int64_t bytes, const Fill& fill);
  /// From byte `first` to the end.
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
  int direct_ = -1;  // -1 where the file system has no such way
};

}  // namespace mylos
