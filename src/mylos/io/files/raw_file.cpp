#include "mylos/io/files/raw_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/io/files/output_file.hpp"

namespace mylos {
namespace {

/// Offsets, lengths and memory of direct transfers are multiples of this: the largest block size of common
/// disks.
constexpr std::int64_t block_bytes = 4096;

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Opens the file; for writing, write-only. If another host writes the rest of a block, NFS then sends only
/// the bytes written here.
int open_file(const std::string& path, RawFile::Access access, int flags) {
  const int mode = access == RawFile::Access::write ? O_WRONLY : O_RDONLY;
  return ::open(path.c_str(), mode | O_CLOEXEC | flags);
}

}  // namespace

void RawFile::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

RawFile::RawFile(std::string path, Access access, Cache cache) : path_(std::move(path)) {
  constexpr auto bytes = static_cast<std::size_t>(piece_bytes);
  buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(huge_page_bytes, bytes)));
  if (!buffer_)
    fail_run(errors::out_of_memory, "{}: there is no memory for a buffer to read or write it", path_);
  // Only a hint: with small pages a transfer costs more than the copy.
  ::madvise(buffer_.get(), bytes, MADV_HUGEPAGE);
  cached_ = open_file(path_, access, 0);
  if (cached_ < 0) {
    fail_run(access == Access::read ? errors::cannot_read : errors::cannot_write, "{}: cannot be opened: {}",
             path_, std::strerror(errno));
  }
  if (cache == Cache::bypass) direct_ = open_file(path_, access, O_DIRECT);
}

RawFile::~RawFile() {
  if (cached_ >= 0) ::close(cached_);
  if (direct_ >= 0) ::close(direct_);
}

void RawFile::finish() {
  int error = ::fsync(cached_) == 0 ? 0 : errno;
  for (int* descriptor : {&cached_, &direct_}) {
    const int closed = std::exchange(*descriptor, -1);
    if (closed >= 0 && ::close(closed) != 0 && error == 0) error = errno;
  }
  if (error != 0) fail_to_write(path_, error);
}

void RawFile::write(std::int64_t offset, std::int64_t bytes, const Fill& fill) {
  for (std::int64_t done = 0; done < bytes;) {
    // Every piece ends at a block boundary or at the end of the data, so all but the first start at a block
    // boundary.
    const std::int64_t at = offset + done;
    const std::int64_t max_length = piece_bytes - at % block_bytes;
    const std::int64_t length = std::min(max_length, bytes - done);
    std::byte* const start = buffer_.get() + at % block_bytes;
    fill(start, done, length);
    const std::int64_t head = std::min(length, (block_bytes - at % block_bytes) % block_bytes);
    const std::int64_t tail = (length - head) % block_bytes;
    write_piece(at, start, head);
    write_piece(at + head, start + head, length - head - tail);
    write_piece(at + length - tail, start + length - tail, tail);
    done += length;
  }
}

void RawFile::write_piece(std::int64_t offset, const std::byte* data, std::int64_t bytes) {
  while (bytes > 0) {
    const bool direct = direct_ >= 0 && offset % block_bytes == 0 && bytes % block_bytes == 0;
    const ::ssize_t written =
        ::pwrite(direct ? direct_ : cached_, data, static_cast<std::size_t>(bytes), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && direct && errno == EINVAL) {  // the file system reports it only now
      ::close(direct_);
      direct_ = -1;
      continue;
    }
    if (written <= 0) fail_to_write(path_, written < 0 ? errno : EIO);
    offset += written;
    data += written;
    bytes -= written;
  }
}

void RawFile::read(std::int64_t first, const Use& use) {
  for (std::int64_t offset = first - first % block_bytes;;) {
    const std::int64_t length = read_piece(offset);
    const std::int64_t skipped = std::min(length, std::max<std::int64_t>(0, first - offset));
    if (length > skipped) use(buffer_.get() + skipped, length - skipped);
    offset += length;
    if (length == 0 || offset % block_bytes != 0) return;
  }
}

std::int64_t RawFile::read_piece(std::int64_t offset) {
  std::int64_t length = 0;
  while (length < piece_bytes) {
    const bool direct = direct_ >= 0 && length % block_bytes == 0;
    const ::ssize_t bytes = ::pread(direct ? direct_ : cached_, buffer_.get() + length,
                                    static_cast<std::size_t>(piece_bytes - length), offset + length);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && direct && errno == EINVAL) {
      ::close(direct_);
      direct_ = -1;
      continue;
    }
    if (bytes < 0)
      fail_run(errors::cannot_read, "{}: cannot be read at byte {}: {}", path_, offset + length,
               std::strerror(errno));
    if (bytes == 0) break;
    length += bytes;
  }
  return length;
}

}  // namespace mylos
